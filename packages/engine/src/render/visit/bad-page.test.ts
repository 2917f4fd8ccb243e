/** Pages of bot guards in front of the origin, and pages that hold only an error. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { readPage } from '@prepaint/runtime/read-page.ts'
import { badnessOf, challengerOf, TEXT_LIMIT_CHARS } from './bad-page.ts'

const page = (title: string, body: string) =>
  `<html><head><title>${title}</title></head><body>${body}</body></html>`
const URL_OF = 'https://shop.example/'
const judge = (html: string, status = 200) => badnessOf(html, readPage(html, URL_OF), status)
const CONTENT = 'A shelf of mugs, made by hand. '.repeat(40)

const challenges: Record<string, string> = {
  Cloudflare: `<title>Just a moment...</title><body><h1>shop.example</h1><p>Verifying you are human. Ray ID: 1</p></body>`,
  Akamai: `<title>Access Denied</title><body><h1>Access Denied</h1>You don't have permission to access "http://shop.example/" on this server.<p>Reference #18.c4a2f748.1700000000.1a2b3c</p></body>`,
  Imperva: `<title></title><body><iframe src="/_Incapsula_Resource?SWUDNSAI=31">Request unsuccessful. Incapsula incident ID: 1</iframe></body>`,
  DataDome: `<title>shop.example</title><body><iframe src="https://geo.captcha-delivery.com/captcha/?initialCid=1"></iframe></body>`,
  HUMAN: `<title>Access to this page has been denied.</title><body><div id="px-captcha"></div></body>`,
  Vercel: `<title>Vercel Security Checkpoint</title><body><p>We are verifying your browser</p></body>`,
  Turnstile: `<title>Wait</title><body><form><input type="hidden" name="x"><p>Verify that you are a human</p><div class="big cf-turnstile"></div><button>Go</button></form></body>`,
  hCaptcha: `<title>One step</title><body><p>Please verify you are human</p><div class="h-captcha" data-sitekey="1"></div></body>`,
}
const errors: Record<string, string> = {
  'server error': `<title>502 Bad Gateway</title><body><center><h1>502 Bad Gateway</h1></center><hr><center>nginx</center></body>`,
  'Next.js': `<title>Shop</title><body>Application error: a client-side exception has occurred (see the browser console).</body>`,
  'React Router': `<title>Shop</title><body><h2>Unexpected Application Error!</h2><h3>x is not a function</h3></body>`,
  WordPress: `<title>Database Error</title><body><h1>Error establishing a database connection</h1></body>`,
  script: `<title>Shop</title><body><div><h1>Something went wrong</h1><p>Try again later.</p></div></body>`,
}

describe('a snapshot that is no page', () => {
  for (const [mark, html] of Object.entries(challenges)) {
    it(`${mark} asks for a human; a page that holds the same beside its content is one`, () => {
      for (const status of [200, 403]) assert.deepEqual(judge(html, status), { kind: 'challenge', mark })
      assert.equal(judge(html.replace('</body>', `<p>${CONTENT}</p></body>`)), null)
    })
  }
  for (const [mark, html] of Object.entries(errors)) {
    it(`an error of ${mark} with status 200, but not with an error's own`, () => {
      assert.deepEqual(judge(html), { kind: 'error-page', mark })
      assert.equal(judge(html, 404), null)
    })
  }

  // Proves decided "Bad renders"
  it('honest pages, however short, are pages', () => {
    const honest = [
      page('Contact', '<form><p>Write to us</p><div class="h-captcha"></div><button>Send</button></form>'),
      page('Errors we know', '<h1>What does 502 Bad Gateway mean?</h1>'),
      page('500 mugs and counting', '<h1>500 mugs</h1>').replace('500 mugs and', 'Our 500 mugs and'),
      page('A moment', '<p>Just a moment of rest.</p>'),
      page('Access', '<p>Access denied? Ask your admin.</p>'),
    ]
    for (const html of honest) assert.equal(judge(html), null, html)
  })

  it('a captcha guards the form of a page, and is all of a challenge', () => {
    const asks = '<p>Please confirm you are not a robot</p>'
    const widgets = [
      '<div class="h-captcha"></div>',
      '<i class="g-recaptcha"></i>',
      '<b data-src="https://challenges.cloudflare.com/"></b>',
    ]
    const forms = [
      '<input type="email" name="mail">',
      '<input name="q">',
      '<select name="topic"><option>Mugs</select>',
      '<textarea name="text"></textarea>',
      '<input type="password">',
    ]
    const challenges = [
      '',
      '<input type="hidden" name="r"><input type="submit">',
      '<textarea id="g-recaptcha-response" name="g-recaptcha-response"></textarea>',
      '<input type="checkbox" name="human">',
      '<input name="captcha_code">',
    ]
    for (const widget of widgets) {
      for (const form of forms)
        assert.equal(judge(page('Write', `${asks}<form>${form}${widget}</form>`)), null, form)
      for (const form of challenges)
        assert.equal(judge(page('Write', `${asks}<form>${form}${widget}</form>`))?.kind, 'challenge', form)
    }
  })

  it('a text at the limit of length is judged, and one past it is a page', () => {
    const shell = (chars: number) => page('', `Something went wrong ${'x'.repeat(chars - 21)}`)
    assert.equal(judge(shell(TEXT_LIMIT_CHARS))?.kind, 'error-page')
    assert.equal(judge(shell(TEXT_LIMIT_CHARS + 1)), null)
  })

  it('a response that says so is a challenge before anything is read', () => {
    assert.equal(challengerOf([{ name: 'CF-Mitigated', value: 'challenge' }]), 'Cloudflare')
    assert.equal(challengerOf([{ name: 'server', value: 'cloudflare' }]), null)
  })
})
