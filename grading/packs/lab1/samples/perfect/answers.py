"""Right answers to every question."""

import math

import torch


def gemm(A, B):
    N, K = A.shape
    _, M = B.shape
    C = torch.zeros(N, M, dtype=A.dtype, device=A.device)
    for i in range(N):
        for j in range(M):
            for k in range(K):
                C[i, j] += A[i, k] * B[k, j]
    return C


def scaled_dot_product_attention(q, k, v, attn_mask=None):
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))
    if attn_mask is not None:
        if attn_mask.dtype == torch.bool:
            scores = scores.masked_fill(~attn_mask, float("-inf"))
        else:
            scores = scores + attn_mask
    return torch.softmax(scores, dim=-1) @ v


def gelu_tanh_python(input):
    inner = math.sqrt(2 / math.pi) * (input + 0.044715 * input**3)
    return 0.5 * input * (1 + torch.tanh(inner))


def elements(*sizes):
    return math.prod(sizes)


def gemm_mac(x, y):
    N, K = x.shape
    _, M = y.shape
    return N * K * M


def gemm_io(A, B):
    bytes_per_elem = A.element_size()
    read = A.numel() + B.numel()
    write = elements(A.shape[0], B.shape[1])
    return (read + write) * bytes_per_elem


def calc_attn_mac(B, H, L_q, L_kv, D_h):
    mac = 0
    mac += B * H * L_q * D_h * L_kv  # Q @ K.T
    mac += B * H * L_q * L_kv * D_h  # A @ V
    return mac


def calc_attn_io(B, H, L_q, L_kv, D_h):
    bytes_per_elem = 4
    q = out = elements(B, H, L_q, D_h)
    k = v = elements(B, H, L_kv, D_h)
    scores = elements(B, H, L_q, L_kv)
    qk = q + k + scores
    softmax = 5 * scores
    av = scores + v + out
    return (qk + softmax + av) * bytes_per_elem


def calc_attn_module_mac(batch_size, query_len, kv_len, gemma_config):
    hidden = gemma_config.hidden_size
    q_dim = gemma_config.num_attention_heads * gemma_config.head_dim
    kv_dim = gemma_config.num_key_value_heads * gemma_config.head_dim
    projections = batch_size * query_len * hidden * (q_dim + 2 * kv_dim)
    attention = calc_attn_mac(batch_size, gemma_config.num_attention_heads, query_len, kv_len, gemma_config.head_dim)
    return projections + attention + batch_size * query_len * q_dim * hidden


def linear_io(rows, n_in, n_out):
    return 2 * (rows * n_in + n_in * n_out + rows * n_out)


def calc_attn_module_io(batch_size, query_len, kv_len, gemma_config):
    hidden, d = gemma_config.hidden_size, gemma_config.head_dim
    heads, kv_heads = gemma_config.num_attention_heads, gemma_config.num_key_value_heads
    rows = batch_size * query_len
    total = linear_io(rows, hidden, heads * d) + 2 * linear_io(rows, hidden, kv_heads * d)
    scores = batch_size * heads * query_len * kv_len
    q = out = rows * heads * d
    k = v = batch_size * kv_len * kv_heads * d
    total += 2 * (q + k + scores) + 2 * 5 * scores + 2 * (scores + v + out)
    return total + linear_io(rows, heads * d, hidden)
