"""What the name of a GEMM tells of its operands; the knowledge is `block_dtypes.toml`."""

import re
import tomllib
from functools import cache, lru_cache
from importlib.resources import files

_GPU_MODEL = re.compile(r"\((?P<models>.+)\)$")


@cache
def _patterns() -> tuple[tuple[str, re.Pattern[str]], ...]:
    text = files(__package__).joinpath("block_dtypes.toml").read_text(encoding="utf-8")
    return tuple((name, re.compile(rule)) for name, rule in tomllib.loads(text).items())


@lru_cache(maxsize=1 << 12)
def operand_dtype(name: str) -> str:
    """Tell the type of a GEMM's operands from its name.

    Parameters
    ----------
    name : str
        As it stands in the trace.

    Returns
    -------
    str
        `fp4`, `fp8`, `bf16`, `fp16`, `tf32`, `int8`, `fp64` or `fp32`; "" where the name
        does not tell.

    Examples
    --------
    >>> operand_dtype("nvjet_tst_128x256_64x4_1x2_h_bz_coopA_TNT")
    'bf16'
    >>> operand_dtype("sm80_xmma_gemm_f16f16_f16f32_f32_tn_n_tilesize192x128x32")
    'fp16'
    >>> operand_dtype("gemm_kernel")
    ''
    """
    for dtype, pattern in _patterns():
        if pattern.search(name):
            return dtype
    return ""


def gpu_model(text: str) -> str:
    """Take the model out of a rank's GPU: `A100` of `3 (A100)`; "" where there is none.

    >>> gpu_model("0 (A100-SXM4-80GB)"), gpu_model("2")
    ('A100-SXM4-80GB', '')
    """
    found = _GPU_MODEL.search(text)
    return found["models"] if found else ""
