import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { prefersMarkdown } from './accept-markdown.ts'

const MARKDOWN = [
  'text/markdown',
  'text/markdown, */*',
  'text/markdown, text/*',
  'text/html;q=0.5, text/markdown',
  'text/html;q=0, text/markdown;q=0.001',
  'text/markdown;q=0.8,text/html;q=0.8',
  'text/*, text/markdown',
  '*/*;q=0.1, text/markdown;q=0.2',
  'TEXT/MarkDown;Q=1.000',
  'text/markdown;variant=GFM;charset=utf-8',
  'text/markdown;charset="a,text/html;q=1";q=0.7, text/html;q=0.6',
  'text/markdown;x="\\",text/html", text/html;q=0.9',
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
  'text/html',
  'text/html, text/markdown',
  'text/html;q=0, */*',
  'text/markdown;q=0.5, */*;q=0.8',
  'text/markdown;q=0, */*',
  'text/markdown;q=0.5, text/html',
  'text/markdown;q=1.5',
  'text/markdown;q=0.1234',
  'text/markdown;q=',
  'text/markdown;q=-1',
  'text/markdown;q="1"',
  'text/markdownx',
  'text/x-markdown',
  'application/json;profile="a, text/markdown, b"',
  'text/html;q=0.8, text/markdown;q=0.8',
  `text/markdown, ${'x'.repeat(4_096 - 14)}`,
]

/** As browsers send it with a navigation, and for images, scripts and fetch. */
const XHTML = 'text/html,application/xhtml+xml,application/xml;q=0.9'
const BROWSERS: [browser: string, accept: string][] = [
  [
    'Chrome 142, Edge 142, Opera 124, Samsung Internet 28',
    `${XHTML},image/avif,image/webp,image/apng,*/*;q=0.8,application/signed-exchange;v=b3;q=0.7`,
  ],
  ['Firefox 145, Safari 26', `${XHTML},*/*;q=0.8`],
  ['Edge 18', 'text/html, application/xhtml+xml, application/xml; q=0.9, */*; q=0.8'],
  ['Internet Explorer 8', 'image/jpeg, application/x-ms-application, application/xaml+xml, */*'],
  ['any of them, an image', 'image/avif,image/webp,image/apng,image/svg+xml,image/*,*/*;q=0.8'],
]

describe('who gets Markdown', () => {
  for (const accept of MARKDOWN) {
    it(`"${accept.slice(0, 60)}" does`, () => assert.equal(prefersMarkdown(accept), true))
  }
  for (const accept of HTML) {
    it(`"${accept?.slice(0, 60)}" does not`, () => assert.equal(prefersMarkdown(accept), false))
  }
  for (const [browser, accept] of BROWSERS) {
    it(`${browser} does not`, () => assert.equal(prefersMarkdown(accept), false))
  }
})
