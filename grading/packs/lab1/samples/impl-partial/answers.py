"""Right on ordinary inputs: the product is always float32, exp overflows, the input is scaled in place."""

import math

import torch


def gemm(A, B):
    C = torch.zeros(A.shape[0], B.shape[1])
    for i in range(A.shape[0]):
        for j in range(B.shape[1]):
            for k in range(A.shape[1]):
                C[i][j] += A[i][k] * B[k][j]
    return C


def softmax(x):
    e = torch.exp(x)
    return e / e.sum(-1, keepdim=True)


def scaled_dot_product_attention(q, k, v, attn_mask=None):
    q /= math.sqrt(q.shape[-1])
    return torch.matmul(softmax(torch.matmul(q, k.mT)), v)


def gelu_tanh_python(input):
    u = math.sqrt(2 / math.pi) * (input + 0.044715 * input**3)
    tanh = (torch.exp(u) - torch.exp(-u)) / (torch.exp(u) + torch.exp(-u))
    return 0.5 * input * (1 + tanh)
