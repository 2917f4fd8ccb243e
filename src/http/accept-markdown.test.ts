import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { prefersMarkdown } from './accept-markdown.ts'

const MARKDOWN = [
  'text/markdown',
  'text/markdown, text/html, */*',
  'text/markdown, */*',
  'text/markdown;q=0.9, */*;q=0.8',
  'text/html;q=0, text/markdown;q=0.001',
  'text/markdown;q=0.8,text/html;q=0.8',
  '*/*, text/markdown',
  '*/*;q=0.1, text/markdown;q=0.2',
  'TEXT/MarkDown;Q=1.000',
  'text/markdown;variant=GFM;charset=utf-8',
  'text/markdown;charset="a,text/html;q=1";q=0.7, text/html;q=0.6',
  'text/markdown;x="\\",text/html", text/html;q=0.9',
  '  text/markdown ;q=0.5 , text/html ;q=0.4 ',
  ',,text/markdown,,',
  'text/markdown;q=0.1, text/html;q=2',
  'text/markdown;q=0, text/markdown;q=0.3',
  'text/markdown;q=1, text/html;q=0.',
  `text/markdown, ${'x'.repeat(4_096 - 15)}`,
]
const HTML = [
  undefined,
  '',
  '*/*',
  'text/*',
  'text/html, text/markdown',
  'text/html;q=0, */*',
  'text/markdown;q=0.5, */*;q=0.8',
  'text/markdown;q=0',
  'text/markdown;q=0.000, text/html;q=0',
  'text/markdown;q=0.5, text/html',
  'text/markdown;q=1.5',
  'text/markdown;q=0.1234',
  'text/markdown;q=',
  'text/markdown;q',
  'text/markdown;q="1"',
  'text/markdownx',
  'application/json;profile="a, text/markdown, b"',
  'text/html;q=0.8, text/markdown;q=0.8',
  `text/markdown, ${'x'.repeat(4_096 - 14)}`,
]

/** As 12 browsers send it with a navigation, and all of them for an image. */
const XHTML = 'text/html,application/xhtml+xml,application/xml;q=0.9'
const BROWSERS = [
  // Chrome 142, Edge 142, Opera 124, Samsung Internet 28
  `${XHTML},image/avif,image/webp,image/apng,*/*;q=0.8,application/signed-exchange;v=b3;q=0.7`,
  // Firefox 145, Safari 26
  `${XHTML},*/*;q=0.8`,
  // Firefox 128 and 92
  `${XHTML},image/avif,image/webp,image/png,image/svg+xml,*/*;q=0.8`,
  `${XHTML},image/avif,image/webp,*/*;q=0.8`,
  // Edge 18
  'text/html, application/xhtml+xml, application/xml; q=0.9, */*; q=0.8',
  // Internet Explorer 11 and 8
  'text/html, application/xhtml+xml, */*',
  'image/jpeg, application/x-ms-application, application/xaml+xml, */*',
  // Opera 12
  'text/html, application/xml;q=0.9, application/xhtml+xml, image/png, image/webp, image/x-xbitmap, */*;q=0.1',
  'image/avif,image/webp,image/apng,image/svg+xml,image/*,*/*;q=0.8',
]

describe('who gets Markdown', () => {
  for (const [all, does] of [
    [MARKDOWN, true],
    [[...HTML, ...BROWSERS], false],
  ] as const) {
    for (const accept of all) {
      it(`"${accept?.slice(0, 99)}" ${does ? 'does' : 'does not'}`, () =>
        assert.equal(prefersMarkdown(accept), does))
    }
  }
})
