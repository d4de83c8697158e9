"""Puts the count of functions last: it looks at what the other tests called."""

import hypothesis

hypothesis.settings.register_profile("quick", max_examples=25, deadline=None)
hypothesis.settings.register_profile("full", max_examples=300, deadline=None)
hypothesis.settings.load_profile(__import__("os").environ.get("HYPOTHESIS_PROFILE", "quick"))


def pytest_collection_modifyitems(items):
    items.sort(key=lambda item: item.name == "test_every_function_was_called")
