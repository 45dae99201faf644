"""C4.5 as Quinlan's book and J48 have it, from lists and by recursion; for at most 60 rows."""

import math

NEAR = 1e-6


def bits(weights):
    """Entropy of weights, times their sum."""
    total = sum(weights)
    return -sum(w * math.log2(w / total) for w in weights if w > NEAR)


def by_class(rows, n_classes):
    return [sum(w for _, c, w in rows if c == k) for k in range(n_classes)]


def weight(rows):
    return sum(w for _, _, w in rows)


class Twin:
    """A row is (values, class, weight); a node is a dict."""

    def __init__(self, X, y, n_values, weights=None, *, cf=0.25, z=0.0, least=2, **how):
        weights = weights or [1.0] * len(X)
        self.all = [row for row in zip(X, y, weights, strict=True) if row[2] > 0]
        self.n_values, self.n_classes = n_values, max(c for _, c, _ in self.all) + 1
        self.cf, self.z, self.least = cf, z, least
        self.raising = how.get("raising", True)
        few = [0.3 * len(self.all) - v > NEAR for v in n_values]
        self.average_over = few if any(few) else [True] * len(few)
        self.root = self.grow(self.all)
        self.collapse(self.root)
        if how.get("prune", True):
            self.prune(self.root)

    # --- growing ---

    def grow(self, rows):
        node = {"rows": rows, "test": None, "sons": []}
        counts = by_class(rows, self.n_classes)
        if 2 * self.least - weight(rows) > NEAR or abs(max(counts) - sum(counts)) < NEAR:
            return node
        tests = [self.best_test(rows, r) for r in range(len(self.n_values))]
        gains = [t[0] for t, counts in zip(tests, self.average_over, strict=True) if t and counts]
        if not gains:
            return node
        best, highest = None, 0.0
        for found in tests:
            if found and found[0] >= sum(gains) / len(gains) - 1e-3 and found[1] - highest > NEAR:
                best, highest = found, found[1]
        if best:
            _, _, r, cut = best
            if cut is not None:
                cut = max(x[r] for x, _, _ in self.all if x[r] <= cut)
            node["test"] = (r, cut)
            node["sons"] = [self.grow(part) for part in self.parts(node["test"], rows)]
        return node

    def best_test(self, rows, r):
        """(gain, gain ratio, feature, midpoint or None), or None."""
        known = sorted((row for row in rows if not math.isnan(row[0][r])), key=lambda t: t[0][r])
        n, m = weight(rows), weight(known)
        if self.n_values[r]:
            branches = [[t for t in known if t[0][r] == v] for v in range(self.n_values[r])]
            if sum(self.least - weight(b) < NEAR for b in branches) < 2:
                return None
            return self.rated(branches, n, self.gain(branches, n), r, None)
        least = 0.1 * m / self.n_classes
        least = self.least if least - self.least < NEAR else min(25, least)
        if 2 * least - len(known) > NEAR:
            return None
        best, best_gain, tried = None, 0.0, 0
        for i in range(1, len(known)):
            if known[i - 1][0][r] + 1e-5 < known[i][0][r]:
                halves = [known[:i], known[i:]]
                if all(least - weight(half) < NEAR for half in halves):
                    tried += 1
                    gain = self.gain(halves, n)
                    if gain - best_gain > NEAR:
                        best, best_gain = halves, gain
        gain = best_gain - math.log2(max(1, tried)) / n
        if gain < NEAR:
            return None
        return self.rated(best, n, gain, r, (best[0][-1][0][r] + best[1][0][0][r]) / 2)

    def gain(self, branches, n):
        known = [row for branch in branches for row in branch]
        m = weight(known)
        gained = bits(by_class(known, self.n_classes))
        gained -= sum(bits(by_class(branch, self.n_classes)) for branch in branches)
        return gained / n if m / n * gained >= NEAR else 0.0

    def rated(self, branches, n, gain, r, cut):
        sizes = [weight(branch) for branch in branches]
        spread = bits([*sizes, n - sum(sizes)])
        return gain, gain / (spread / n) if spread >= NEAR else 0.0, r, cut

    def parts(self, test, rows):
        """Rows of each branch; a missing value takes all, with shares of its weight."""
        r, cut = test
        parts = [[] for _ in range(self.n_values[r] or 2)]
        sizes = [weight(part) for part in self.known_parts(test, rows)]
        shares = [s / sum(sizes) if sum(sizes) >= NEAR else 1 / len(parts) for s in sizes]
        for x, c, w in rows:
            for k, share in enumerate(shares):
                if math.isnan(x[r]) and share > NEAR:
                    parts[k].append((x, c, w * share))
                elif self.goes(x[r], cut) == k:
                    parts[k].append((x, c, w))
        return parts

    def known_parts(self, test, rows):
        r, cut = test
        sons = range(self.n_values[r] or 2)
        return [[row for row in rows if self.goes(row[0][r], cut) == k] for k in sons]

    @staticmethod
    def goes(value, cut):
        if math.isnan(value):
            return None
        return int(value) if cut is None else int(value > cut)

    # --- pruning ---

    def wrong(self, rows):
        return weight(rows) - max(by_class(rows, self.n_classes))

    def training_errors(self, node):
        if not node["sons"]:
            return self.wrong(node["rows"])
        return sum(map(self.training_errors, node["sons"]))

    def collapse(self, node):
        if node["sons"] and self.training_errors(node) >= self.wrong(node["rows"]) - 1e-3:
            node.update(test=None, sons=[])
        for son in node["sons"]:
            self.collapse(son)

    def expected(self, rows):
        n, e = weight(rows), self.wrong(rows)
        return e + self.added(n, e) if n >= NEAR else 0.0

    def added(self, n, e):
        if e < 1:
            none = n * (1 - self.cf ** (1 / n))
            return none + (e * (self.added(n, 1) - none) if e else 0.0)
        if e + 0.5 >= n:
            return max(n - e, 0)
        f, z = (e + 0.5) / n, self.z
        root = math.sqrt(f / n - f * f / n + z * z / (4 * n * n))
        return (f + z * z / (2 * n) + z * root) / (1 + z * z / n) * n - e

    def expected_of(self, node, rows):
        """Expected errors of a subtree that is given these rows."""
        if not node["sons"]:
            return self.expected(rows)
        parts = self.parts(node["test"], rows)
        return sum(self.expected_of(s, p) for s, p in zip(node["sons"], parts, strict=True))

    def prune(self, node):
        if not node["sons"]:
            return
        for son in node["sons"]:
            self.prune(son)
        sizes = [weight(son["rows"]) for son in node["sons"]]
        largest = max(range(len(sizes)), key=lambda k: (round(sizes[k], 6), k))
        branch = node["sons"][largest]
        as_branch = self.expected_of(branch, node["rows"]) if self.raising else math.inf
        as_leaf, as_tree = self.expected(node["rows"]), self.expected_of(node, node["rows"])
        if as_leaf < min(as_tree, as_branch) + 0.1 + NEAR:
            node.update(test=None, sons=[])
        elif as_branch < as_tree + 0.1 + NEAR:
            node.update(test=branch["test"], sons=branch["sons"])
            self.give(node, node["rows"])
            self.prune(node)

    def give(self, node, rows):
        node["rows"] = rows
        if node["sons"]:
            for son, part in zip(node["sons"], self.parts(node["test"], rows), strict=True):
                self.give(son, part)

    # --- asking ---

    def sizes(self):
        """Leaves and nodes."""
        found = [self.root]
        for node in found:
            found.extend(node["sons"])
        return sum(not node["sons"] for node in found), len(found)

    def shares(self, x, node=None):
        node = node or self.root
        own = [c / max(weight(node["rows"]), NEAR) for c in by_class(node["rows"], self.n_classes)]
        if not node["sons"]:
            return own
        r, cut = node["test"]
        sizes = [weight(son["rows"]) for son in node["sons"]]
        k = self.goes(x[r], cut)
        if k is not None:
            lost = k >= len(sizes) or sizes[k] < NEAR
            return own if lost else self.shares(x, node["sons"][k])
        below = sum(s for s in sizes if s >= NEAR)
        out = [0.0] * self.n_classes
        for son, size in zip(node["sons"], sizes, strict=True):
            if size >= NEAR:
                found = self.shares(x, son)
                out = [o + size / below * f for o, f in zip(out, found, strict=True)]
        return out
