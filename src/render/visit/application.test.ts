import assert from 'node:assert/strict'
import { it } from 'node:test'

import { Application, FILE_URL_LIMIT_CHARS, FILES_LIMIT } from './recorder.ts'

function nameOf(files: readonly string[], type = 'Script'): string | null {
  const application = new Application()
  for (const url of files) application.requested(type, url)
  return application.name()
}
const many = (count: number) => Array.from({ length: count }, (_, at) => `/${String(at).padStart(4, '0')}.js`)

it('the same files make the same name, in any order and however often', () => {
  const name = nameOf(['/app-1.js', '/app-1.css'])
  assert.match(name ?? '', /^[\w-]{16}$/)
  assert.equal(nameOf(['/app-1.css', '/app-1.js', '/app-1.js']), name)
  assert.equal(nameOf(['/app-1.js', '/app-1.css'], 'Stylesheet'), name)
})

it('another build has another', () => {
  assert.notEqual(nameOf(['/app-2.js']), nameOf(['/app-1.js']))
  assert.notEqual(nameOf(['/app-1.js', '/more.js']), nameOf(['/app-1.js']))
})

it('what is neither script nor style sheet does not count; without any there is no name', () => {
  for (const type of ['Image', 'Fetch', 'Document']) assert.equal(nameOf(['/a'], type), null)
  assert.equal(nameOf([]), null)
})

it('up to its limits', () => {
  assert.notEqual(nameOf(many(FILES_LIMIT)), nameOf(many(FILES_LIMIT - 1)))
  assert.equal(nameOf(many(FILES_LIMIT + 1)), nameOf(many(FILES_LIMIT)))
  const long = `/${'x'.repeat(FILE_URL_LIMIT_CHARS - 2)}`
  assert.notEqual(nameOf([`${long}1`]), nameOf([`${long}2`]))
  assert.equal(nameOf([`${long}12`]), nameOf([`${long}13`]))
})
