"""Two processes that share the tests run each of them once."""

from pathlib import Path
from types import SimpleNamespace

from both_ends import claimed


def test_every_test_is_claimed_once_and_modules_stay_whole(tmp_path):
    sizes = {"a.py": 2, "b.py": 1, "c.py": 3, "d.py": 2}
    items = [
        SimpleNamespace(path=Path(module), number=number)
        for module, size in sizes.items()
        for number in range(size)
    ]
    first, second = (claimed(items, tmp_path, backwards=backwards) for backwards in (False, True))
    taken = [next(first), next(second), next(second), next(second)]
    assert [(str(item.path), item.number) for item in taken] == [
        ("a.py", 0),
        ("d.py", 0),
        ("d.py", 1),
        ("c.py", 0),
    ]
    taken += [*first, *second]
    assert sorted(map(id, taken)) == sorted(map(id, items))
