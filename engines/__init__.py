"""Models as engines: catalogue and fetcher, graph building per model family, runtimes behind one ``Session``.

Knows nothing of the idol. Heavy imports (onnx, onnxruntime, tensorrt) happen inside functions.
"""

from __future__ import annotations

import os

# ONNX Runtime's own builds note what they run and would send it on; nothing here asks the network. This is read when
# it is first imported, which is after this package.
os.environ["ORT_DISABLE_TELEMETRY"] = "1"
