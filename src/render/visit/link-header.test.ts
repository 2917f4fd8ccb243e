import assert from 'node:assert/strict'
import { describe, it } from 'node:test'

import { documentLinks } from './main-document.ts'

describe('a header Link', () => {
  const rows: [what: string, value: string, kept: string][] = [
    [
      'of the canonical address',
      '<https://a.example/x>; rel="canonical"',
      '<https://a.example/x>; rel="canonical"',
    ],
    ['without quotes, in any case', '</x>; REL=Canonical', '</x>; REL=Canonical'],
    [
      'of other languages',
      '<https://a.example/de,at>; rel="alternate"; hreflang="de", <https://a.example/>; rel=alternate; hreflang=en',
      '<https://a.example/de,at>; rel="alternate"; hreflang="de", <https://a.example/>; rel=alternate; hreflang=en',
    ],
    ['of scripts', '</a.js>; rel=preload; as=script, </b.js>; rel="modulepreload"', ''],
    ['of connections', '<https://cdn.example>; rel=preconnect', ''],
    // Proves decided "Headers of the origin"
    ['of both', '</a.css>; rel=preload; as=style, </x>; rel="canonical"', '</x>; rel="canonical"'],
    ['of several relations', '</x>; rel="nofollow next"', '</x>; rel="nofollow next"'],
    ['whose second rel does not count', '</a.js>; rel=preload; rel=canonical', ''],
    ['with a title that holds one', '</a.js>; rel=preload; title="; rel=canonical"', ''],
    ['without a relation', '</x>', ''],
    ['of nothing', '', ''],
    ['that is broken', '<<>;"', ''],
  ]
  for (const [what, value, kept] of rows) it(what, () => assert.equal(documentLinks(value), kept))
})
