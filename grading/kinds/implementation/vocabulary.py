"""Names of library things by what they do, so that a pack can say in a few words what an answer may use.

Names are those that functions, methods, classes and constants of PyTorch and NumPy share; a trailing `_` is left away.
"""

from typing import Final


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


GROUPS: Final[dict[str, frozenset[str]]] = {
    # Tensors made, copied, converted; nothing is computed from their elements.
    "making": _words(
        """
        tensor as_tensor asarray array ascontiguousarray zeros ones empty full zeros_like ones_like empty_like full_like
        new_zeros new_ones new_empty new_full new_tensor arange linspace eye rand randn randint from_numpy numpy tolist
        item clone copy detach fill fill_diagonal zero to type type_as astype cpu cuda float double half bfloat16 int
        long short bool contiguous set_data resolve_conj resolve_neg requires_grad Parameter Buffer register_buffer
        Variable
        """
    ),
    # What a tensor is, and constants.
    "describing": _words(
        """
        shape size dim ndim ndimension numel nelement dtype device stride layout itemsize element_size nbytes data
        grad grad_fn name names real imag is_floating_point is_complex is_contiguous is_tensor is_cuda is_cpu is_signed
        is_available is_sparse isreal finfo iinfo eps tiny result_type promote_types get_device can_cast
        Tensor FloatTensor DoubleTensor HalfTensor LongTensor IntTensor ndarray Size generic number floating integer
        float16 float32 float64 int8 int16 int32 int64 uint8 complex64 complex128 strided contiguous_format
        preserve_format inf nan pi e newaxis __version__ float_ index values count flat
        """
    ),
    # Elements moved or picked.
    "moving": _words(
        """
        view view_as reshape reshape_as resize permute transpose swapaxes swapdims movedim T mT H mH t unsqueeze squeeze
        expand expand_as expand_dims broadcast_to broadcast_tensors flatten unflatten ravel chunk split unbind stack
        cat concat concatenate hstack vstack repeat repeat_interleave tile select narrow index_select gather take
        flip roll atleast_1d atleast_2d rearrange ndindex ndenumerate nditer cartesian_prod meshgrid tril
        triu diagonal masked_fill masked_select where sort argsort nonzero unfold unravel_index ix_
        """
    ),
    # One element at a time.
    "arithmetic": _words(
        """
        add sub subtract mul multiply div divide true_divide floor_divide neg negative positive abs absolute pow
        float_power power square sqrt rsqrt reciprocal exp exp2 expm1 log log2 log1p maximum minimum fmax fmin clamp
        clamp_min clamp_max clip sign floor ceil round trunc fmod remainder addcmul addcdiv nan_to_num logical_not
        logical_and logical_or bitwise_not eq ne lt le gt ge equal not_equal less less_equal greater greater_equal
        isnan isinf isfinite isclose
        """
    ),
    # Everything around the computing: checks, settings, progress, modules.
    "around": _words(
        """
        all any allclose equal array_equal assert_close assert_allclose no_grad inference_mode enable_grad
        set_grad_enabled is_grad_enabled autocast compile script jit ignore unused export is_scripting
        manual_seed Generator seed
        set_default_dtype get_default_dtype set_printoptions set_num_threads get_num_threads errstate seterr
        synchronize current_device record_function tqdm trange Module ModuleList Sequential Identity forward eval train
        parameters apply register_parameter __init__ __call__ __name__ __class__ __doc__ __len__ __setitem__ __getitem__
        """
    ),
}


def words(groups: tuple[str, ...], names: tuple[str, ...]) -> frozenset[str]:
    """All names that these groups and these further names allow."""
    return frozenset(names).union(*(GROUPS[group] for group in groups))
