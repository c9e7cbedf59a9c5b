"""Two measurements that take turns, so that a machine that slows down or speeds up favours neither. Knows not what is measured."""


def in_turns(pairs, first, second):
    """The results of both, called A B B A and so on; a pair's two are neighbours in time."""
    results = [], []
    for pair in range(pairs):
        for side in (0, 1) if pair % 2 == 0 else (1, 0):
            results[side].append((first, second)[side]())
    return results
