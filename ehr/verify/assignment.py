"""The best one-to-one assignment of expectations to changes, exactly, with its ties broken in order.

The Hungarian algorithm over Python integers (Kuhn 1955, in the shortest-augmenting-path form of Jonker and Volgenant
1987), so that counts of several ranks and the tie-break can be packed into one exact number.
"""

from __future__ import annotations

from collections.abc import Sequence


def assign(scores: Sequence[Sequence[tuple[int, ...]]]) -> list[int | None]:
    """For each row its column, or None where there are more rows than columns.

    `scores[row][column]` are counts, the most important first, all of one length. As many rows as possible get a
    column; the sum of the first count is as large as possible, then that of the second, and so on. Among equals, the
    first row takes the earliest column that it can, then the second row, and so on.
    """
    rows = len(scores)
    columns = len(scores[0]) if rows else 0
    if not rows or not columns:
        return [None] * rows
    costs = _costs(scores, rows, columns)
    if rows <= columns:
        return list(_hungarian(costs))
    turned = _hungarian([[costs[r][c] for r in range(rows)] for c in range(columns)])
    result: list[int | None] = [None] * rows
    for column, row in enumerate(turned):
        result[row] = column
    return result


def _costs(scores: Sequence[Sequence[tuple[int, ...]]], rows: int, columns: int) -> list[list[int]]:
    """One integer a pair: the counts in falling weight, and below them the tie-break."""
    base = columns + 1
    weight = base**rows
    weights: list[int] = []
    for rank in reversed(range(len(scores[0][0]))):
        weights.insert(0, weight)
        largest = max(abs(pair[rank]) for row in scores for pair in row)
        weight *= (2 * largest + 1) * rows + 1
    return [
        [
            (column - columns) * base ** (rows - 1 - row)
            - sum(w * count for w, count in zip(weights, pair, strict=True))
            for column, pair in enumerate(line)
        ]
        for row, line in enumerate(scores)
    ]


def _hungarian(costs: Sequence[Sequence[int]]) -> list[int]:
    """Row -> column of least total cost; no more rows than columns."""
    rows, columns = len(costs), len(costs[0])
    infinity = sum(abs(c) for line in costs for c in line) * 2 + 1
    row_price, column_price = [0] * (rows + 1), [0] * (columns + 1)
    row_of, came_from = [0] * (columns + 1), [0] * (columns + 1)
    for row in range(1, rows + 1):
        row_of[0], column = row, 0
        least, used = [infinity] * (columns + 1), [False] * (columns + 1)
        while row_of[column]:
            used[column] = True
            current, step, following = row_of[column], infinity, 0
            for candidate in range(1, columns + 1):
                if used[candidate]:
                    continue
                reduced = costs[current - 1][candidate - 1] - row_price[current] - column_price[candidate]
                if reduced < least[candidate]:
                    least[candidate], came_from[candidate] = reduced, column
                if least[candidate] < step:
                    step, following = least[candidate], candidate
            for candidate in range(columns + 1):
                if used[candidate]:
                    row_price[row_of[candidate]] += step
                    column_price[candidate] -= step
                else:
                    least[candidate] -= step
            column = following
        while column:
            row_of[column] = row_of[came_from[column]]
            column = came_from[column]
    result = [0] * rows
    for column in range(1, columns + 1):
        if row_of[column]:
            result[row_of[column] - 1] = column - 1
    return result
