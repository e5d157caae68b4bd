"""The counts of formula-stated, with nothing said about what they assume."""


def calc_attn_mac(B, H, L_q, L_kv, D_h):
    return B * H * L_q * L_kv * D_h


def calc_attn_io(B, H, L_q, L_kv, D_h):
    """Bytes of attention."""
    scores = B * H * L_q * L_kv
    qk = B * H * (L_q + L_kv) * D_h + scores
    softmax = 3 * scores + scores
    av = scores + B * H * (L_q + L_kv) * D_h
    return 4 * (qk + softmax + av)


def calc_attn_module_mac(batch_size, query_len, kv_len, gemma_config):
    hidden, d = gemma_config.hidden_size, gemma_config.head_dim
    heads, kv_heads = gemma_config.num_attention_heads, gemma_config.num_key_value_heads
    q_proj = batch_size * query_len * hidden * heads * d
    kv_proj = 2 * batch_size * kv_len * hidden * kv_heads * d
    attention = 2 * batch_size * heads * query_len * kv_len * d
    return 2 * q_proj + kv_proj + attention


def calc_attn_module_io(batch_size, query_len, kv_len, gemma_config):
    hidden, d = gemma_config.hidden_size, gemma_config.head_dim
    q_dim, kv_dim = gemma_config.num_attention_heads * d, gemma_config.num_key_value_heads * d
    rows, scores = batch_size * query_len, batch_size * gemma_config.num_attention_heads * query_len * kv_len
    elements = 3 * rows * hidden + rows * (q_dim + 2 * kv_dim)
    elements += 3 * rows * q_dim + 7 * scores + rows * q_dim
    return 2 * (elements + rows * q_dim + rows * hidden)
