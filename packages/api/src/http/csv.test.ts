import assert from 'node:assert/strict'
import { it } from 'node:test'
import { csvText } from './csv.ts'

// Proves decided "CSV"
it('is what RFC 4180 says: CRLF behind each line, quotes where they are needed', () => {
  const rows = ['/a', '/b,c', '/"d"', '/e\nf', ''].map((path, at) => [path, at === 2 ? null : at - 1.5])
  const text = 'path,visits\r\n/a,-1.5\r\n"/b,c",-0.5\r\n"/""d""",\r\n"/e\nf",1.5\r\n,2.5\r\n'
  assert.equal(csvText(['path', 'visits'], rows), text)
  assert.equal(csvText(['path'], []), 'path\r\n')
})

// Proves decided "CSV"
it('no text becomes a formula', () => {
  for (const text of ['=1+1', '+1', '-1', '@SUM(A1)', '\t=1', '\r=1', ' =1', '＝1', '|cmd', '%x']) {
    assert.match(csvText(['a'], [[text]]), /^a\r\n"?'/, JSON.stringify(text))
  }
  assert.equal(csvText(['=a'], [['=X("y")']]), `'=a\r\n"'=X(""y"")"\r\n`)
})

it('nor does a part of it where semicolons or tabs part cells; other text, and numbers, stay as they are', () => {
  assert.equal(csvText(['a'], [['/x; "@SUM(A1)\t-1;b']]), `a\r\n"/x; ""'@SUM(A1)\t'-1;b"\r\n`)
  assert.equal(csvText(['a'], [['/x;a=1'], ['/=1'], [-5]]), 'a\r\n"/x;a=1"\r\n/=1\r\n-5\r\n')
})
