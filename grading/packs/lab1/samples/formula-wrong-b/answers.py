"""Typical slips: right for square matrices only, a float, heads forgotten, the output never written."""


def gemm_mac(x, y):
    return x.shape[0] ** 3


def gemm_io(A, B):
    return 4.0 * (A.numel() + B.numel() + A.shape[0] * B.shape[1])


def calc_attn_mac(B, H, L_q, L_kv, D_h):
    return 2 * B * L_q * L_kv * D_h


def calc_attn_io(B, H, L_q, L_kv, D_h):
    bytes_per_elem = 4
    qk = B * H * (L_q * D_h + L_kv * D_h + L_q * L_kv)
    softmax = 5 * B * H * L_q * L_kv
    av = B * H * (L_q * L_kv + L_kv * D_h)
    return (qk + softmax + av) * bytes_per_elem


def calc_attn_module_mac(batch_size, query_len, kv_len, gemma_config):
    hidden, d = gemma_config.hidden_size, gemma_config.head_dim
    heads, kv_heads = gemma_config.num_attention_heads, gemma_config.num_key_value_heads
    mac = batch_size * query_len * hidden * (heads + 2 * kv_heads) * d
    return mac + 2 * batch_size * heads * query_len * kv_len * d


def calc_attn_module_io(batch_size, query_len, kv_len, gemma_config):
    return 0
