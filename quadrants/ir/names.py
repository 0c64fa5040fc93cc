"""Identifiers that a kernel's text cannot give to the user's functions and variables in some dialect.

Names of ours begin with `qd_`, and no name of a user does; inside each of these two groups one allocator gives every
name once: `frontend.names` for what users name, `emit.prelude` for helpers and types. Functions of a user are in a
namespace of their own where the dialect has a library with more names than anybody lists.
"""

from __future__ import annotations

import functools
import re

C_KEYWORDS = """
auto bool break case char const continue default do double else enum extern float for goto if inline int long register
restrict return short signed sizeof static struct switch typedef typeof union unsigned void volatile while asm
alignas alignof constexpr nullptr static_assert thread_local true false unix linux NULL
"""

# Names of the C library that prelude text declares or calls, and compilers know by heart. A global of the user with
# one of these names would change their meaning.
LIBRARY_NAMES = """
sin cos tan asin acos atan atan2 sinh cosh tanh exp exp2 log log2 log10 pow sqrt rsqrt cbrt floor ceil round trunc rint
fabs abs labs fmod fmin fmax fma frexp ldexp copysign hypot signbit isnan isinf isfinite nan printf puts putchar memcpy
memset memmove malloc calloc free abort exit main strlen strcmp setjmp longjmp y0 y1 yn j0 j1 jn gamma lgamma tgamma erf
erfc index remainder nextafter modf div ldiv time clock rand random select signal read write open close
"""

CPP_KEYWORDS = """
and and_eq bitand bitor catch class compl concept const_cast consteval constinit co_await co_return co_yield decltype
delete dynamic_cast explicit export friend mutable namespace new noexcept not not_eq operator or or_eq private protected
public reinterpret_cast requires static_cast template this throw try typeid typename using virtual wchar_t char8_t
char16_t char32_t xor xor_eq min max threadIdx blockIdx blockDim gridDim warpSize assert clock64 dim3
"""

OPENCL_KEYWORDS = (
    """
half kernel kernel_exec global local constant private read_only write_only read_write pipe generic uniform vec_step
event_t
sampler_t uchar ushort uint ulong quad complex imaginary size_t ptrdiff_t intptr_t uintptr_t image1d_t image1d_array_t
image1d_buffer_t image2d_t image2d_array_t image2d_depth_t image2d_array_depth_t image2d_msaa_t image3d_t reserve_id_t
queue_t ndrange_t clk_event_t cl_mem_fence_flags ATOMIC_VAR_INIT CLK_LOCAL_MEM_FENCE CLK_GLOBAL_MEM_FENCE
INFINITY NAN MAXFLOAT HUGE_VAL HUGE_VALF CHAR_BIT CHAR_MAX CHAR_MIN FP_ILOGB0 FP_ILOGBNAN
"""
    + " ".join(f"{stem}_{end}" for stem in ("SCHAR", "SHRT", "INT", "LONG") for end in ("MAX", "MIN"))
    + " "
    + " ".join(
        f"{stem}_{end}"
        for stem in ("FLT", "DBL", "HALF")
        for end in "DIG MANT_DIG MAX_10_EXP MAX_EXP MIN_10_EXP MIN_EXP RADIX MAX MIN EPSILON".split()
    )
    + " "
    + " ".join(
        f"M_{of}{end}"
        for of in "E LOG2E LOG10E LN2 LN10 PI PI_2 PI_4 1_PI 2_PI 2_SQRTPI SQRT2 SQRT1_2".split()
        for end in ("", "_F", "_H")
    )
    + """ UCHAR_MAX USHRT_MAX UINT_MAX ULONG_MAX
"""
    + " ".join(
        f"{stem}{count}"
        for stem in ("char uchar short ushort int uint long ulong float double half bool".split())
        for count in (2, 3, 4, 8, 16)
    )
)

# Functions of OpenCL C besides those of the C library: names that a function of the user's cannot have there.
OPENCL_FUNCTIONS = """
abs_diff add_sat all any async_work_group_copy async_work_group_strided_copy atomic_add atomic_and atomic_cmpxchg
atomic_dec atomic_inc atomic_max atomic_min atomic_or atomic_sub atomic_xchg atomic_xor atom_add atom_and atom_cmpxchg
atom_dec atom_inc atom_max atom_min atom_or atom_sub atom_xchg atom_xor acosh acospi asinh asinpi atanh atan2pi atanpi
barrier bitselect clamp clz cospi cross degrees distance dot erf erfc exp10 expm1 fast_distance fast_length
fast_normalize fdim fract get_global_id get_global_offset get_global_size get_group_id get_local_id get_local_size
get_num_groups get_work_dim hadd ilogb isequal isgreater isgreaterequal isless islessequal islessgreater isnormal
isnotequal isordered isunordered ldexp length lgamma_r log1p logb mad mad24 mad_hi mad_sat max maxmag mem_fence min
minmag mix mul24 mul_hi nan normalize popcount pown powr prefetch radians read_mem_fence remquo rhadd rootn rotate
shuffle shuffle2 sign sincos sinpi smoothstep step sub_sat tanpi upsample vload2 vload3 vload4 vload8 vload16 vload_half
vstore2 vstore3 vstore4 vstore8 vstore16 vstore_half wait_group_events write_mem_fence
"""

# Names of which compilers and drivers of OpenCL define so many that nobody lists them, macros among them, which no
# scope hides: conversions, extensions, constants, and functions of extensions.
OPENCL_FAMILIES = r"(as|convert|cl|clk|CL|CLK|atomic|atom|sub_group|work_group|intel|amd|arm|nv|pocl|POCL|NV|AMD)_\w+"

METAL_KEYWORDS = (
    """
metal kernel vertex fragment device constant thread threadgroup threadgroup_imageblock half bfloat uchar ushort uint
ulong size_t ptrdiff_t nullptr_t imageblock sampler texture1d texture2d texture3d texturecube depth2d depthcube array
array_ref patch_control_point ray_data object_data mesh visible intersection simdgroup_matrix simd_vote mem_flags
memory_order memory_order_relaxed memory_order_seq_cst thread_scope fast precise atomic atomic_int atomic_uint
atomic_bool atomic_float atomic_ulong packed_half vec matrix as_type INFINITY NAN MAXFLOAT MAXHALF HUGE_VALF HUGE_VALH
INT_MAX INT_MIN UINT_MAX CHAR_BIT CHAR_MAX CHAR_MIN SCHAR_MAX SCHAR_MIN SHRT_MAX SHRT_MIN UCHAR_MAX USHRT_MAX LONG_MAX
LONG_MIN ULONG_MAX FP_ILOGB0 FP_ILOGBNAN
"""
    + " ".join(
        f"{stem}_{end}"
        for stem in ("FLT", "HALF")
        for end in "DIG MANT_DIG MAX_10_EXP MAX_EXP MIN_10_EXP MIN_EXP RADIX MAX MIN EPSILON".split()
    )
    + " "
    + " ".join(
        f"M_{of}_{end}"
        for of in "E LOG2E LOG10E LN2 LN10 PI PI_2 PI_4 1_PI 2_PI 2_SQRTPI SQRT2 SQRT1_2".split()
        for end in "FH"
    )
    + " "
    + " ".join(
        f"{packed}{stem}{count}"
        for packed in ("", "packed_")
        for stem in ("char uchar short ushort int uint long ulong float half bool bfloat".split())
        for count in (2, 3, 4)
    )
    + " "
    + " ".join(f"{stem}{n}x{m}" for stem in ("float", "half") for n in (2, 3, 4) for m in (2, 3, 4))
)

# Functions of Metal's standard library besides those of C's: names that a function of the user's cannot have there.
METAL_FUNCTIONS = """
abs absdiff addsat all any acosh asinh atanh atan2 ceil clamp clz copysign cospi cross ctz degrees determinant dfdx dfdy
discard_fragment distance distance_squared divide dot exp10 extract_bits faceforward fdim fmax3 fmedian3 fmin3 fract
fwidth hadd ilogb insert_bits is_null_texture isnormal isordered isunordered ldexp length length_squared mad24 madhi
madsat max max3 median3 min min3 mix mul24 mulhi normalize popcount powr quad_all quad_any quad_ballot quad_broadcast
quad_shuffle radians reflect refract reverse_bits rhadd rotate saturate select sign sincos sinpi smoothstep step subsat
tanpi transpose unpack_unorm4x8_to_float pack_float_to_unorm4x8
atomic_compare_exchange_weak_explicit atomic_exchange_explicit atomic_fetch_add_explicit atomic_fetch_and_explicit
atomic_fetch_max_explicit atomic_fetch_min_explicit atomic_fetch_or_explicit atomic_fetch_sub_explicit
atomic_fetch_xor_explicit atomic_load_explicit atomic_store_explicit atomic_thread_fence threadgroup_barrier
simdgroup_barrier simd_active_threads_mask simd_all simd_and simd_any simd_ballot simd_broadcast simd_broadcast_first
simd_is_first simd_is_helper_thread simd_max simd_min simd_or simd_prefix_exclusive_product simd_prefix_exclusive_sum
simd_prefix_inclusive_product simd_prefix_inclusive_sum simd_product simd_shuffle simd_shuffle_and_fill_down
simd_shuffle_and_fill_up simd_shuffle_down simd_shuffle_rotate_down simd_shuffle_rotate_up simd_shuffle_up
simd_shuffle_xor simd_sum simd_xor
access address bias bit_cast border_color command_buffer compare_func component compute_command conditional conjunction
coord decay disjunction enable_if false_type filter gradient2d gradient3d gradientcube integral_constant
interpolant interpolants intersection_function_table intersection_params intersection_result intersector
is_function_constant_defined is_same level level_range level_or_bias lod_clamp mag_filter max_anisotropy min_filter
min_lod_clamp mip_filter negation numeric_limits primitive_acceleration_structure primitive_type
quad_is_first quad_sum quad_vote r_address rasterization_rate_map_data rasterization_rate_map_decoder
render_command render_pipeline_state s_address simd_vote size_command swap t_address texture_buffer true_type
unpack_snorm4x8_to_float visible_function_table void_t
"""

METAL_FAMILIES = r"(simd|simdgroup|quad|imageblock|intersection|rasterization_rate|atomic)_\w+"

GLSL_KEYWORDS = """
input output sample buffer filter half common active partition cast template this union enum typedef long short double
sizeof namespace using extern external interface public static fixed unsigned superp goto inline noinline asm class
resource layout precise shared smooth patch atomic_uint volatile restrict coherent readonly writeonly subroutine in out
inout lowp mediump highp discard attribute const uniform varying centroid flat noperspective invariant precision
uint devicecoherent queuefamilycoherent workgroupcoherent subgroupcoherent nonprivate demote spirv_instruction
spirv_execution_mode spirv_execution_mode_id spirv_decorate spirv_decorate_id spirv_decorate_string spirv_type
spirv_storage_class spirv_by_reference spirv_literal main true false struct sampler hvec2 hvec3 hvec4 fvec2 fvec3 fvec4
mat2 mat3 mat4 QD_TASK VULKAN samplerShadow sampler3DRect subpassInput isubpassInput usubpassInput pervertexEXT
pervertexNV shadercallcoherent attachmentEXT iattachmentEXT uattachmentEXT tileImageEXT
""" + " ".join(
    [f"{kind}vec{n}" for n in (2, 3, 4) for kind in "b i u d i8 u8 i16 u16 i32 u32 i64 u64 f16 f32 f64".split()]
    + [f"vec{n}" for n in (2, 3, 4)]
    + [f"{kind}mat{n}x{m}" for n in (2, 3, 4) for m in (2, 3, 4) for kind in ("", "d", "f16", "f32", "f64")]
    + [f"{kind}mat{n}" for n in (2, 3, 4) for kind in ("d", "f16", "f32", "f64")]
    + [f"float{bits}_t" for bits in (16, 32, 64)]
    + [
        f"{kind}{what}{of}"
        for kind in ("", "i", "u")
        for what in ("sampler", "image", "texture", "subpassInput")
        for of in (
            "1D 2D 3D Cube 1DArray 2DArray CubeArray Buffer 2DMS 2DMSArray 2DRect 1DShadow 2DShadow CubeShadow "
            "1DArrayShadow 2DArrayShadow CubeArrayShadow 2DRectShadow MS"
        ).split()
    ]
)

# Functions of GLSL besides those of the C library: names that a function of the user's cannot have there.
GLSL_FUNCTIONS = """
abs acosh all any asinh atan atanh atomicAdd atomicAnd atomicCompSwap atomicCounter atomicExchange atomicLoad atomicMax
atomicMin atomicOr atomicStore atomicXor barrier bitCount bitfieldExtract bitfieldInsert bitfieldReverse ceil clamp
controlBarrier cross degrees determinant distance dot doubleBitsToInt64 doubleBitsToUint64 equal exp2 faceforward
findLSB findMSB float16BitsToInt16 float16BitsToUint16 floatBitsToInt floatBitsToUint floor fract greaterThan
greaterThanEqual groupMemoryBarrier imulExtended int16BitsToFloat16 int64BitsToDouble intBitsToFloat inverse inversesqrt
ldexp length lessThan lessThanEqual matrixCompMult max memoryBarrier memoryBarrierBuffer memoryBarrierShared min mix mod
modf normalize not notEqual outerProduct pack32 pack64 packHalf2x16 radians reflect refract roundEven sign smoothstep
step subgroupAdd subgroupAll subgroupAny subgroupBallot subgroupBarrier subgroupElect subgroupMemoryBarrier
subgroupShuffle transpose uaddCarry uint16BitsToFloat16 uint64BitsToDouble uintBitsToFloat umulExtended unpack32
unpackHalf2x16 usubBorrow packDouble2x32 unpackDouble2x32 unpack8 unpack16 pack16 noise1 noise2 noise3 noise4 texture
subgroupBallotBitCount subgroupBallotBitExtract subgroupBallotFindLSB subgroupBroadcast subgroupBroadcastFirst
subgroupShuffleXor subgroupShuffleUp packUint2x32 unpackUint2x32 packFloat2x16 unpackFloat2x16
subgroupShuffleDown subgroupMemoryBarrierBuffer subgroupMemoryBarrierShared dFdx dFdy fwidth
"""

# Qualifiers and built-in names of the shading and compute languages, and the locals of the skeletons.
OTHER = """
half kernel global local private device thread constant in out inout uniform buffer shared frame lane begin end
worker args rt true false asm error errno stdin stdout stderr EOF INFINITY NAN
"""

RESERVED = frozenset(
    [*C_KEYWORDS.split(), *CPP_KEYWORDS.split(), *OTHER.split(), *LIBRARY_NAMES.split()]
    + [f"{name}f" for name in LIBRARY_NAMES.split()]
    + [f"{kind}{bits}_t" for kind in ("int", "uint") for bits in (8, 16, 32, 64)]
)

MOST_AXES = 12

# Members of the argument block and of the frame, and names of tasks.
_NUMBERED = re.compile(r"result\d+|\w+_\d+_(serial|range_for|struct_for)")


# How names of ours and of compilers begin.
PREFIXES = ("qd_", "_", "gl_", "GL_")


def is_reserved(name: str) -> bool:
    """Whether the text of a kernel may mean something else by a name."""
    return name in RESERVED or name.startswith(PREFIXES) or _NUMBERED.fullmatch(name) is not None


def extents_of(array: str) -> set[str]:
    """The names that stand for the extents of an array: those of its axes, and of all together."""
    return {f"{array}_shape{axis}" for axis in ("", *range(MOST_AXES))}


# Of what users call things, in text and in names of files.
_LONGEST = 100


@functools.cache
def identifier(name: str) -> str:
    """`name` as an identifier of every dialect and a part of file names; `__name__` of a function may be any text.

    Of other text than that of an identifier, letters of other alphabets become "u", and all that is no letter or digit
    an underscore; it is cut, as compilers make files of names. The result may be RESERVED, and two names may give one.
    """
    if name.isascii() and name.isidentifier():
        return name[:_LONGEST]
    text = "".join(ch if ch.isascii() and ch.isalnum() else "u" if ch.isalpha() else "_" for ch in name)
    text = re.sub("_+", "_", text).strip("_")
    return (text if text and not text[0].isdigit() else f"f{text}")[:_LONGEST]
