def gemm_io(A, B):
    """Return the bytes that A @ B moves in fp32: operands read, result written, as an int."""
    ### YOUR CODE HERE ###
    raise NotImplementedError()
    ######################
