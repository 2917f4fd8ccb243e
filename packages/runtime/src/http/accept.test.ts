import assert from 'node:assert/strict'
import { it } from 'node:test'
import { chooseEncoding, createEncodingChoice, type Encoding } from './accept-encoding.ts'
import { prefersMarkdown } from './accept-markdown.ts'

it('Accept-Encoding chooses the encoding, read or remembered', () => {
  const cases: [header: string | undefined, encoding: Encoding][] = [
    [undefined, 'identity'],
    ['', 'identity'],
    ['gzip, deflate, br', 'br'],
    ['x-gzip', 'gzip'],
    ['GZIP', 'gzip'],
    ['br;q=0.5, gzip;q=0.8', 'gzip'],
    ['br;q=0, gzip', 'gzip'],
    ['gzip;q=0.2, identity;q=0.5', 'identity'],
    ['*', 'br'],
    ['*;q=0.5, br;q=0.1', 'gzip'],
    ['*;q=0, gzip', 'gzip'],
    ['identity;q=0', 'identity'],
    ['br;q=2, gzip;q=0.1', 'gzip'],
    ['br ; q=0.9 , gzip ; q=1', 'gzip'],
  ]
  const remembered = createEncodingChoice()
  for (const [header, encoding] of cases) {
    const chosen = [chooseEncoding(header), remembered(header), remembered(header)]
    assert.deepEqual(chosen, Array(3).fill(encoding), header)
  }
})

it('Markdown is for those who name it first, or prefer it to HTML', () => {
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
  for (const accept of MARKDOWN) assert(prefersMarkdown(accept), accept)
  const HTML = [
    undefined,
    '*/*',
    'text/*',
    'text/html, text/markdown',
    'text/markdown;q=0.5, */*;q=0.8',
    'text/markdown;q=0.000, text/html;q=0',
    ...['text/markdown;q=1.5', 'text/markdown;q=0.1234', 'text/markdown;q', 'text/markdown;q="1"'],
    'text/markdownx',
    'application/json;profile="a, text/markdown, b"',
    'text/html;q=0.8, text/markdown;q=0.8',
    `text/markdown, ${'x'.repeat(4_096 - 14)}`,
    // Chrome with a navigation.
    'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8,application/signed-exchange;v=b3;q=0.7',
  ]
  for (const accept of HTML) assert(!prefersMarkdown(accept), accept)
})
