"""A strided copy as one small kernel: a copy node of a CUDA graph waits for the copy engine, a kernel does not.

Written in PTX (ISA 7.0), which the driver compiles when it is loaded; where it refuses, the driver's own copy is used.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Any

from engines.trt.device import Device

_PTX = b"""
.version 7.0
.target sm_70
.address_size 64
.visible .entry copy_rows(
  .param .u64 target, .param .u64 source, .param .u32 count,
  .param .u64 target_row, .param .u64 source_row, .param .u64 target_plane, .param .u64 source_plane)
{
  .reg .pred %p;
  .reg .b32 %r<7>;
  .reg .b32 %v<4>;
  .reg .b64 %d<9>;
  mov.u32 %r0, %ctaid.x;
  mov.u32 %r1, %ntid.x;
  mov.u32 %r2, %tid.x;
  mad.lo.u32 %r3, %r0, %r1, %r2;
  ld.param.u32 %r4, [count];
  setp.ge.u32 %p, %r3, %r4;
  @%p bra done;
  mov.u32 %r5, %ctaid.y;
  mov.u32 %r6, %ctaid.z;
  cvt.u64.u32 %d0, %r5;
  cvt.u64.u32 %d1, %r6;
  mul.wide.u32 %d2, %r3, 16;
  ld.param.u64 %d3, [source];
  ld.param.u64 %d4, [source_row];
  ld.param.u64 %d5, [source_plane];
  mad.lo.u64 %d3, %d0, %d4, %d3;
  mad.lo.u64 %d3, %d1, %d5, %d3;
  add.u64 %d3, %d3, %d2;
  ld.param.u64 %d6, [target];
  ld.param.u64 %d7, [target_row];
  ld.param.u64 %d8, [target_plane];
  mad.lo.u64 %d6, %d0, %d7, %d6;
  mad.lo.u64 %d6, %d1, %d8, %d6;
  add.u64 %d6, %d6, %d2;
  ld.global.v4.u32 {%v0, %v1, %v2, %v3}, [%d3];
  st.global.v4.u32 [%d6], {%v0, %v1, %v2, %v3};
done:
  ret;
}
\0"""
_WORD = 16
_BLOCK = 128
_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Rows:
    """Where rows of one copy lie: an address, bytes from row to row, rows from plane to plane."""

    at: int
    pitch: int
    height: int


class RowCopy:
    """Copies ``width`` bytes of each of ``height`` rows of ``depth`` planes, on a stream."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self._kernel: Any = None
        load = getattr(device.cuda, "module_from_buffer", None)
        if load is None:
            return
        try:
            self._module = load(_PTX)
            self._kernel = self._module.get_function("copy_rows")
            self._kernel.prepare("PPIPPPP")
        except Exception as error:  # PyCUDA's errors have no common base worth naming; the driver's copy does as well
            _LOG.info("the copy kernel is not used: %s", error)
            self._kernel = None

    def queue(self, source: Rows, target: Rows, width: int, height: int, depth: int, stream: Any) -> None:
        """Addresses, ``width`` and pitches are multiples of 16 for the kernel; else the driver copies."""
        numbers = (source.at, target.at, source.pitch, target.pitch, width)
        if self._kernel is None or any(number % _WORD for number in numbers):
            self._by_driver(source, target, width, height, depth, stream)
            return
        count = width // _WORD
        self._kernel.prepared_async_call(
            (-(-count // _BLOCK), height, depth), (_BLOCK, 1, 1), stream, target.at, source.at, count,
            target.pitch, source.pitch, target.pitch * target.height, source.pitch * source.height,
        )  # fmt: skip

    def _by_driver(self, source: Rows, target: Rows, width: int, height: int, depth: int, stream: Any) -> None:
        copy = self._device.cuda.Memcpy3D()
        copy.set_src_device(source.at)
        copy.src_pitch, copy.src_height = source.pitch, source.height
        copy.set_dst_device(target.at)
        copy.dst_pitch, copy.dst_height = target.pitch, target.height
        copy.width_in_bytes, copy.height, copy.depth = width, height, depth
        copy(stream)
