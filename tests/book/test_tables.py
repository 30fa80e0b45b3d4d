"""Tables that a chapter shows: as text, as HTML, and what stands out in them."""

from attnbook.tables import Table, Wrong

TABLE = Table(["a <b>", "c"], [["1 & 2", ["x", Wrong("y<")]]], caption="from here")


def test_a_table_is_text_where_there_is_no_page():
    assert repr(TABLE).splitlines() == ["a <b>  c", "1 & 2  x *y<*", "from here"]


def test_a_table_is_html_and_nothing_in_it_is_markup():
    html = TABLE._repr_html_()
    assert '<th scope="col">a &lt;b&gt;</th>' in html
    assert "<td>1 &amp; 2</td>" in html
    assert 'x <b class="attn-wrong">y&lt;</b>' in html
    assert "<p>from here</p>" in html
