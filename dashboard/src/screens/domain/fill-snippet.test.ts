import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { describe, it } from 'node:test'
import {
  apiAddress,
  appAddress,
  type Filling,
  filledSnippet,
  hasTokenInCode,
  placeholdersIn,
} from './fill-snippet.ts'

const FILLING: Filling = {
  domain: 'shop.example',
  token: 'pp_site_x$&y',
  app: 'app.internal:80',
  api: '10.0.0.2:3000',
  edge: '10.0.0.2:8080',
}

describe('a file of a guide that is filled for a domain', () => {
  it('has the values of the owner everywhere, as they are', () => {
    const text = 'www.example.com pp_site_TOKEN 127.0.0.1:8000 127.0.0.1:3000 127.0.0.1:8080 www.example.com'
    assert.equal(
      filledSnippet(text, FILLING),
      'shop.example pp_site_x$&y app.internal:80 10.0.0.2:3000 10.0.0.2:8080 shop.example',
    )
  })

  it('keeps values that look like placeholders of others', () => {
    const filling = {
      ...FILLING,
      domain: 'www.example.com',
      app: '127.0.0.1:8080',
      api: '127.0.0.1:8000',
      edge: '127.0.0.1:3000',
    }
    assert.equal(
      filledSnippet('app 127.0.0.1:8000 api 127.0.0.1:3000 edge 127.0.0.1:8080', filling),
      'app 127.0.0.1:8080 api 127.0.0.1:8000 edge 127.0.0.1:3000',
    )
  })

  it('keeps what is not known yet, or was emptied', () => {
    const filling = { ...FILLING, token: null, app: '' }
    assert.equal(filledSnippet('pp_site_TOKEN 127.0.0.1:8000', filling), 'pp_site_TOKEN 127.0.0.1:8000')
  })

  it('of a program has the whole URL of the API', () => {
    const filling = { ...FILLING, api: 'https://render.example' }
    assert.equal(filledSnippet('a=http://127.0.0.1:3000 b', filling), 'a=https://render.example b')
  })

  it('has the token in no comment, and asks to replace nothing once all is filled in', () => {
    const text =
      '# Replace: www.example.com, pp_site_TOKEN. See docs/a.md.\n// Replace: pp_site_TOKEN.\nkey pp_site_TOKEN;'
    assert.equal(filledSnippet(text, FILLING), '# See docs/a.md.\nkey pp_site_x$&y;')
    assert.match(
      filledSnippet(text, { ...FILLING, token: null }),
      /^# Replace: shop\.example, pp_site_TOKEN\./,
    )
    assert.equal(filledSnippet('# PREPAINT_KEY=pp_site_TOKEN', FILLING), '# PREPAINT_KEY=pp_site_TOKEN')
  })

  it('has no placeholder left outside of comments, in no file of the guides', () => {
    const folder = path.resolve(import.meta.dirname, '../../../../examples/integrations')
    const files = readdirSync(folder).filter((file) => !file.includes('.test.'))
    assert(files.length > 7)
    for (const file of files) {
      const text = readFileSync(path.join(folder, file), 'utf8')
      const filled = filledSnippet(text, FILLING)
      assert.equal(placeholdersIn(filled.replace(/^\s*(?:\/\/|#).*/gm, '')).size, 0, file)
      assert.doesNotMatch(filled, /(?:\/\/|#).*pp_site_x/, file)
    }
  })
})

it('the token belongs into a file that has it outside of its comments', () => {
  const folder = path.resolve(import.meta.dirname, '../../../../examples/integrations')
  const has = (file: string) => hasTokenInCode(readFileSync(path.join(folder, file), 'utf8'))
  for (const file of ['nginx.conf', 'apache.conf', 'cloudfront.js']) assert(has(file), file)
  for (const file of ['koa.mjs', 'cloudflare-worker.mjs', 'django_prepaint.py', 'rack_prepaint.rb']) {
    assert(!has(file), file)
  }
})

it('a file needs the values whose placeholders it has', () => {
  assert.deepEqual([...placeholdersIn('127.0.0.1:8080, www.example.com')], ['domain', 'edge'])
})

it('the address of the app is that of an origin without TLS, with its port', () => {
  assert.equal(appAddress('http://10.0.0.3'), '10.0.0.3:80')
  assert.equal(appAddress('http://10.0.0.3:8000'), '10.0.0.3:8000')
  assert.equal(appAddress('https://origin.example'), '127.0.0.1:8000')
})

it('the address of the API is that of the dashboard, or its usual port behind TLS', () => {
  assert.equal(apiAddress(new URL('http://10.0.0.2:3000/domains')), '10.0.0.2:3000')
  assert.equal(apiAddress(new URL('http://render.example/')), 'render.example:80')
  assert.equal(apiAddress(new URL('https://render.example/')), 'render.example:3000')
})
