"""What requests may ask for."""

import pytest

from cobnut.web.parameters import MAX_LIMIT, BadRequest, api_request, page_request


def test_defaults():
    asked = page_request({}, 10, 400)
    assert (asked.query, asked.is_cut, asked.limit, asked.offset, asked.explain) == ("", False, 10, 0, False)


def test_page_sixteen_begins_at_the_hundred_and_fiftieth():
    assert page_request({"q": " a  b\t", "page": "16", "explain": "1"}, 10, 400).offset == 150


def test_a_long_query_is_cut_and_said_so():
    asked = page_request({"q": "x" * 401}, 10, 400)
    assert (len(asked.query), asked.is_cut) == (400, True)


@pytest.mark.parametrize("page", ["0", "-1", "x", "1.5", "1e3", "١", "²", "1001", "9" * 30, "0x10", "1;2", "٣٤"])
def test_pages_that_are_none(page):
    with pytest.raises(BadRequest) as refusal:
        page_request({"page": page}, 10, 400)
    assert str(refusal.value) == "“page” must be a whole number from 1 to 1000."


@pytest.mark.parametrize("values", [{"limit": "0"}, {"limit": "ten"}, {"offset": "-1"}, {"offset": "10001"}])
def test_limits_that_are_none(values):
    with pytest.raises(BadRequest):
        api_request(values, 10, 400)


def test_a_high_limit_is_lowered():
    assert api_request({"limit": "100000", "offset": "30"}, 10, 400).limit == MAX_LIMIT
