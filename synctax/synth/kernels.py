"""The compute kernels of a transformer layer: names, times and operators."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Kernel:
    """A kind of compute kernel.

    Parameters
    ----------
    name : str
        As CUPTI reports it.
    mean_ns : int
        Mean time.
    operators : tuple of str
        Operators around the launch, outermost first.
    geometry : str
        Arguments of the launch, as Kineto writes them.
    """

    name: str
    mean_ns: int
    operators: tuple[str, ...]
    geometry: str


def _geometry(registers: int, shared: int, grid: str, block: str) -> str:
    return (
        f'"registers per thread": {registers},      "shared memory": {shared},      '
        '"blocks per SM": 1.939394,      "warps per SM": 15.515152,      '
        f'"grid": [{grid}],      "block": [{block}],      "est. achieved occupancy %": 25'
    )


def _elementwise(functor: str, blocks: int) -> tuple[str, str]:
    name = (
        "void at::native::vectorized_elementwise_kernel<4, at::native::"
        f"{functor}, std::array<char*, 3ul> >(int, at::native::{functor}, "
        "std::array<char*, 3ul>)"
    )
    return name, _geometry(32, 0, f"{blocks}, 1, 1", "128, 1, 1")


_ADD, _ADD_GEOMETRY = _elementwise("CUDAFunctor_add<c10::BFloat16>", 16384)
_MUL, _MUL_GEOMETRY = _elementwise("BinaryFunctor<float, float, float, MulFunctor>", 8192)

GEMM = Kernel(
    "nvjet_tst_128x256_64x4_1x2_h_bz_coopA_TNT",
    120_000,
    ("aten::linear", "aten::matmul", "aten::mm"),
    _geometry(168, 213_248, "2, 66, 1", "384, 1, 1"),
)
GEMM_BACKWARD = Kernel(
    "cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_256x128_64x3_nt_align8>"
    "(cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_256x128_64x3_nt_align8::Params)",
    130_000,
    ("autograd::engine::evaluate_function: MmBackward0", "MmBackward0", "aten::mm"),
    _geometry(238, 147_456, "32, 16, 1", "256, 1, 1"),
)
ATTENTION = Kernel(
    "void flash_fwd_kernel<Flash_fwd_kernel_traits<128, 128, 64, 4, false, false, "
    "cutlass::bfloat16_t>, false, true, false, false, true, false>(Flash_fwd_params)",
    150_000,
    ("aten::scaled_dot_product_attention", "aten::_flash_attention_forward"),
    _geometry(255, 65_536, "64, 4, 8", "128, 1, 1"),
)
ATTENTION_BACKWARD = Kernel(
    "void flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel<Flash_bwd_kernel_traits<128, 64, "
    "128, 8, 2, 4, 2, false, false, cutlass::bfloat16_t>, false, true>(Flash_bwd_params)",
    320_000,
    (
        "autograd::engine::evaluate_function: ScaledDotProductFlashAttentionBackward0",
        "aten::_flash_attention_backward",
    ),
    _geometry(255, 147_456, "64, 4, 8", "256, 1, 1"),
)
NORM = Kernel(
    "void at::native::(anonymous namespace)::vectorized_layer_norm_kernel"
    "<c10::BFloat16, float>(int, float, c10::BFloat16 const*)",
    25_000,
    ("aten::rms_norm", "aten::native_layer_norm"),
    _geometry(48, 24, "8192, 1, 1", "32, 4, 1"),
)
NORM_BACKWARD = Kernel(
    "void at::native::(anonymous namespace)::layer_norm_grad_input_kernel_vectorized"
    "<c10::BFloat16, float>(c10::BFloat16 const*, c10::BFloat16 const*, float const*)",
    40_000,
    (
        "autograd::engine::evaluate_function: NativeLayerNormBackward0",
        "aten::native_layer_norm_backward",
    ),
    _geometry(56, 128, "8192, 1, 1", "128, 1, 1"),
)
ROPE = Kernel(_MUL, 30_000, ("aten::mul",), _MUL_GEOMETRY)
ADD = Kernel(_ADD, 28_000, ("aten::add",), _ADD_GEOMETRY)
SILU = Kernel(
    "void at::native::vectorized_elementwise_kernel<4, at::native::(anonymous namespace)::"
    "silu_kernel(at::TensorIteratorBase&)::{lambda(c10::BFloat16)#1}, std::array<char*, "
    "2ul> >(int, at::native::(anonymous namespace)::silu_kernel, std::array<char*, 2ul>)",
    30_000,
    ("aten::silu",),
    _geometry(28, 0, "28672, 1, 1", "128, 1, 1"),
)
SILU_BACKWARD = Kernel(
    "void at::native::vectorized_elementwise_kernel<4, at::native::(anonymous namespace)::"
    "silu_backward_kernel(at::TensorIteratorBase&)::{lambda(c10::BFloat16, "
    "c10::BFloat16)#1}, std::array<char*, 3ul> >(int, std::array<char*, 3ul>)",
    45_000,
    ("autograd::engine::evaluate_function: SiluBackward0", "aten::silu_backward"),
    _geometry(32, 0, "28672, 1, 1", "128, 1, 1"),
)
OPTIMIZER = Kernel(
    "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::"
    "(anonymous namespace)::FusedOptimizerTensorListMetadata<4>, at::native::(anonymous "
    "namespace)::FusedAdamMathFunctor<float, 4, (at::native::ADAM_MODE)1, false> >",
    180_000,
    ("Optimizer.step#AdamW.step", "aten::_fused_adamw_"),
    _geometry(64, 0, "320, 1, 1", "512, 1, 1"),
)
COMM_GEOMETRY = _geometry(96, 83_240, "24, 1, 1", "544, 1, 1")
