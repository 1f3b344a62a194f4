"""How much earlier each voice's sound is than its symbols' frames, in seconds.

Measured with ``tests/voice/measure_lead.py`` over 12 lines per voice (the median; single lines lie within 10 to 20 ms).
"""

from __future__ import annotations

from idol.seams import Language

LEAD_SECONDS: dict[str, float] = {
    "af_alloy": 0.062, "af_aoede": 0.050, "af_bella": 0.048, "af_heart": 0.050, "af_jessica": 0.048, "af_kore": 0.050,
    "af_nicole": 0.080, "af_nova": 0.050, "af_river": 0.050, "af_sarah": 0.048, "af_sky": 0.053, "am_adam": 0.057,
    "am_echo": 0.057, "am_eric": 0.040, "am_fenrir": 0.055, "am_liam": 0.045, "am_michael": 0.060, "am_onyx": 0.055,
    "am_puck": 0.050, "am_santa": 0.065, "bf_alice": 0.055, "bf_emma": 0.062, "bf_isabella": 0.055, "bf_lily": 0.053,
    "bm_daniel": 0.053, "bm_fable": 0.060, "bm_george": 0.053, "bm_lewis": 0.060, "zf_xiaobei": 0.055,
    "zf_xiaoni": 0.057, "zf_xiaoxiao": 0.055, "zf_xiaoyi": 0.055, "zm_yunjian": 0.055, "zm_yunxi": 0.055,
    "zm_yunxia": 0.055, "zm_yunyang": 0.050, "jf_alpha": 0.065, "jf_gongitsune": 0.075, "jf_nezumi": 0.070,
    "jf_tebukuro": 0.070, "jm_kumo": 0.065,
}  # fmt: skip
_MEDIANS: dict[Language, float] = {"en": 0.053, "zh": 0.055, "ja": 0.070}


def lead_of(voice: str, language: Language) -> float:
    """The lead of ``voice``; of the language's usual voice when it was not measured."""
    return LEAD_SECONDS.get(voice, _MEDIANS[language])
