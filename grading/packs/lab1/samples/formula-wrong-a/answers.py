"""Typical slips: FLOPs for MAC, elements for bytes, a product or the output forgotten, two bytes for four."""


def gemm_mac(x, y):
    N, K = x.shape
    return 2 * N * K * y.shape[1]


def gemm_io(A, B):
    return A.numel() + B.numel() + A.shape[0] * B.shape[1]


def calc_attn_mac(B, H, L_q, L_kv, D_h):
    return 2 * 2 * B * H * L_q * L_kv * D_h


def calc_attn_io(B, H, L_q, L_kv, D_h):
    bytes_per_elem = 2
    qk = B * H * (L_q * D_h + L_kv * D_h + L_q * L_kv)
    softmax = 5 * B * H * L_q * L_kv
    av = B * H * (L_q * L_kv + L_kv * D_h + L_q * D_h)
    return (qk + softmax + av) * bytes_per_elem


def calc_attn_module_mac(batch_size, query_len, kv_len, gemma_config):
    hidden = gemma_config.hidden_size
    heads, kv_heads = gemma_config.num_attention_heads, gemma_config.num_key_value_heads
    d = hidden // heads
    mac = batch_size * query_len * hidden * (heads + 2 * kv_heads) * d
    mac += 2 * batch_size * heads * query_len * kv_len * d
    return mac + batch_size * query_len * heads * d * hidden


def calc_attn_module_io(batch_size, query_len, kv_len, gemma_config):
    hidden, d = gemma_config.hidden_size, gemma_config.head_dim
    q_dim, kv_dim = gemma_config.num_attention_heads * d, gemma_config.num_key_value_heads * d
    rows, scores = batch_size * query_len, batch_size * gemma_config.num_attention_heads * query_len * kv_len
    elements = 3 * rows * hidden + hidden * (q_dim + 2 * kv_dim) + rows * (q_dim + 2 * kv_dim)
    elements += rows * (q_dim + 2 * kv_dim) + 7 * scores + rows * q_dim
    elements += rows * q_dim + q_dim * hidden + rows * hidden
    return 4 * elements
