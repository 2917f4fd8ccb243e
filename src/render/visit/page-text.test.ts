import assert from 'node:assert/strict'
import { it } from 'node:test'

import { pageText } from './page-text.ts'

it('reads the text between tags, and no invisible text', () => {
  const html = `<!DOCTYPE html>
    <html><head><title>not this</title><style>p { color: red }</style></head>
    <body class="a > b"><!-- <p>nor this</p> --><h1>One &amp; two</h1>
    <script type="application/ld+json">{"a": "<p>"}</script><template><p>later</p></template>
    <p title="x > y">three</p><textarea>typed</textarea><noscript>no script</noscript>
    <my-part><template shadowrootmode="open"><b>in the shadow</b></template></my-part> &lt;end&gt;</body></html>`
  assert.equal(pageText(html), 'One & two three in the shadow <end>')
})

it('stops at the limit', () => {
  assert.equal(pageText(`<body>${'word '.repeat(1_000)}`, 11), 'word word w')
  assert.equal(pageText('<body>exact', 5), 'exact')
})

it('takes time in proportion to the length, whatever it reads', () => {
  for (const bit of ['<script>', '<!--', '<a "', '<template>', '<']) {
    assert.equal(typeof pageText(`<body>${bit.repeat(300_000)}`), 'string')
  }
})
