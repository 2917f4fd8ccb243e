import assert from 'node:assert/strict'
import { it } from 'node:test'
import { escapeXml, unescapeXml } from './xml-text.ts'

it('five entities and numbers are known, and nothing that a DTD would have to explain', () => {
  assert.equal(unescapeXml('a&amp;b&lt;c&gt;d&quot;e&apos;f'), `a&b<c>d"e'f`)
  assert.equal(unescapeXml('&#65;&#x42;&#x1F600;'), 'AB\u{1f600}')
  assert.equal(unescapeXml('&amp;lt;'), '&lt;')
  assert.equal(unescapeXml('a & b; &;'), 'a & b; &;')
  for (const text of ['&eacute;', 'a&file;', '&#1114112;', '&#x110000;', '&constructor;', '&toString;']) {
    assert.equal(unescapeXml(text), null, text)
  }
})

it('what is escaped is read as it was', () => {
  const text = `/a?b=1&c=<d>"e"'f'&amp;`
  assert.equal(escapeXml(text), '/a?b=1&amp;c=&lt;d&gt;&quot;e&quot;&apos;f&apos;&amp;amp;')
  assert.equal(unescapeXml(escapeXml(text)), text)
})
