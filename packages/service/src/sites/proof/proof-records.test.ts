import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { DomainName } from '@prepaint/contract/ids.ts'
import { isInFile, isInHead, isInTexts, proofRecords, recordNames } from './proof-records.ts'

const TOKEN = '0123456789abcdef0123456789abcdef01234567'

it('a TXT record may stand at the name and at its parents with at least two labels, the eight nearest', () => {
  const names = (name: string) => recordNames(name as DomainName)
  assert.deepEqual(names('www.shop.example.com'), [
    '_prepaint.www.shop.example.com',
    '_prepaint.shop.example.com',
    '_prepaint.example.com',
  ])
  assert.deepEqual(names('example.com'), ['_prepaint.example.com'])
  const deep = names('a.b.c.d.e.f.g.h.i.example.com')
  assert.deepEqual([deep.length, deep.at(-1)], [8, '_prepaint.h.i.example.com'])
})

it('a TXT record of a name below which a registry registers names proves none of them', () => {
  const names = (name: string) => recordNames(name as DomainName)
  assert.deepEqual(names('www.shop.co.uk'), ['_prepaint.www.shop.co.uk', '_prepaint.shop.co.uk'])
  assert.deepEqual(names('shop.com.au'), ['_prepaint.shop.com.au'])
  assert.deepEqual(names('co.uk'), ['_prepaint.co.uk'])
  assert.deepEqual(names('www.web.de'), ['_prepaint.www.web.de', '_prepaint.web.de'])
  assert.deepEqual(names('www.co.com'), ['_prepaint.www.co.com', '_prepaint.co.com'])
})

it('the records that an owner is shown are found where they are put', () => {
  const { dns, file, meta } = proofRecords('shop.example.com' as DomainName, TOKEN)
  assert.deepEqual(dns, {
    name: '_prepaint.shop.example.com',
    type: 'TXT',
    value: `prepaint-proof=${TOKEN}`,
  })
  assert.equal(file.url, 'https://shop.example.com/.well-known/prepaint-proof.txt')
  assert(isInTexts(['v=spf1 -all', dns.value], TOKEN))
  assert(isInFile(`\ufeff# ours\r\n ${file.content} \r\n`, TOKEN))
  assert(isInHead(`<!doctype html><html><head>${meta.tag}</head>`, TOKEN))
})

it('a record or file with another token, or with more on the line, proves nothing', () => {
  const other = TOKEN.replace('0', 'f')
  assert(!isInTexts([`prepaint-proof=${other}`, `prepaint-proof=${TOKEN}x`, TOKEN], TOKEN))
  assert(!isInFile(`prepaint-proof=${other}\nsee prepaint-proof=${TOKEN}`, TOKEN))
  assert(!isInFile('', TOKEN))
})

it('a page that is sent instead of the file proves nothing, whatever visitors wrote into it', () => {
  const comment = `<pre>\nprepaint-proof=${TOKEN}\n</pre>`
  for (const before of ['', '\ufeff', '\n  ']) {
    assert(!isInFile(`${before}<!doctype html><html><body>${comment}</body></html>`, TOKEN))
  }
})

describe('a tag in the head', () => {
  const tag = `<meta name="prepaint-proof" content="${TOKEN}">`
  const found: [name: string, html: string][] = [
    ['without html and head tags', `<title>a <b></title>${tag}`],
    [
      'with its attributes in the other order',
      `<head><meta content='${TOKEN}' name='prepaint-proof' /></head>`,
    ],
    [
      'as a minifier writes it',
      `<head><meta charset=utf-8><meta name=prepaint-proof content=${TOKEN}><link href=a>`,
    ],
    ['in capitals', `<HEAD><META NAME="Prepaint-Proof" CONTENT="${TOKEN}"></HEAD>`],
    ['after scripts and styles', `<head><script>if (a < b) "<p>"</script><style>p > a {}</style>${tag}`],
  ]
  for (const [name, html] of found) it(`is found ${name}`, () => assert(isInHead(html, TOKEN)))

  const missing: [name: string, html: string][] = [
    ['in the body, where visitors may write', `<head><title>a</title></head><body>${tag}`],
    ['after text, which begins the body', `<title>a</title>hello ${tag}`],
    ['after a tag that begins the body', `<head><title>a</title><p>a</p>${tag}`],
    ['in a comment', `<head><!-- ${tag} --></head>`],
    [
      'in a title, a script or a template',
      `<head><title>${tag}</title><script>${tag}</script><template>${tag}</template>`,
    ],
    ['with another token', `<head>${tag.replace('0123', '3210')}</head>`],
    ['with another name', `<head>${tag.replace('prepaint-proof', 'prepaint')}</head>`],
  ]
  for (const [name, html] of missing) it(`is not found ${name}`, () => assert(!isInHead(html, TOKEN)))
})
