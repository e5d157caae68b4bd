"""Each answer makes one well-known mistake."""

import torch


def gemm(A, B):
    N, K = A.shape
    M = B.shape[1]
    C = torch.zeros((N, M), dtype=A.dtype)
    for i in range(N):
        for j in range(M):
            for k in range(K - 1):
                C[i, j] += A[i, k] * B[k, j]
    return C


def scaled_dot_product_attention(q, k, v, attn_mask=None):
    scores = torch.einsum("bhqd,bhkd->bhqk", q, k)
    if attn_mask is not None:
        if attn_mask.dtype == torch.bool:
            scores = scores.masked_fill(attn_mask.logical_not(), float("-inf"))
        else:
            scores += attn_mask
    return torch.einsum("bhqk,bhkd->bhqd", scores.softmax(-1), v)


def gelu_tanh_python(input):
    return 0.5 * input * (1 + torch.tanh(0.7978845608 * (input + 0.0447 * input**3)))
