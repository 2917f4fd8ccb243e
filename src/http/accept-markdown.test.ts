import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { prefersMarkdown } from './accept-markdown.ts'

const MARKDOWN = [
  'text/markdown',
  'text/markdown, */*',
  'text/html;q=0, text/markdown;q=0.001',
  'text/markdown;q=0.8,text/html;q=0.8',
  'TEXT/MarkDown;Q=1.000',
  'text/markdown;variant=GFM;charset=utf-8',
  'text/markdown;charset="a,text/html;q=1";q=0.7, text/html;q=0.6',
  'text/markdown;x="\\",text/html", text/html;q=0.9',
  ',, text/markdown ;q=0.5 , text/html ;q=0.4 ',
  'text/markdown;q=0.1, text/html;q=2',
  'text/markdown;q=0, text/markdown;q=0.3',
  `text/markdown, ${'x'.repeat(4_096 - 15)}`,
]
const HTML = [
  undefined,
  '*/*',
  'text/*',
  'text/html, text/markdown',
  'text/markdown;q=0.5, */*;q=0.8',
  'text/markdown;q=0.000, text/html;q=0',
  'text/markdown;q=1.5',
  'text/markdown;q=0.1234',
  'text/markdown;q',
  'text/markdown;q="1"',
  'text/markdownx',
  'application/json;profile="a, text/markdown, b"',
  'text/html;q=0.8, text/markdown;q=0.8',
  `text/markdown, ${'x'.repeat(4_096 - 14)}`,
  // Chrome with a navigation, an old browser, and an image.
  'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8,application/signed-exchange;v=b3;q=0.7',
  'image/jpeg, application/x-ms-application, application/xaml+xml, */*',
  'image/avif,image/webp,image/apng,image/svg+xml,image/*,*/*;q=0.8',
]

describe('who gets Markdown', () => {
  for (const [all, does] of [
    [MARKDOWN, true],
    [HTML, false],
  ] as const) {
    for (const accept of all) {
      it(`"${accept?.slice(0, 99)}" ${does ? 'does' : 'does not'}`, () =>
        assert.equal(prefersMarkdown(accept), does))
    }
  }
})
