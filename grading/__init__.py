"""The core: packs, answers, kinds, verdicts, scores, and the store they are kept in."""
