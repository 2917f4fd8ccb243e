/** Pages of bot guards in front of the origin, and pages that hold only an error. */
import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { scripted, startTestRenderer } from '../../../test/support/renderer.ts'
import { badnessOf, challengerOf, TEXT_LIMIT_CHARS } from './bad-page.ts'
import { pageText } from './page-text.ts'

const page = (title: string, body: string) =>
  `<html><head><title>${title}</title></head><body>${body}</body></html>`
const judge = (html: string, status = 200) => badnessOf(html, pageText(html, TEXT_LIMIT_CHARS + 1), status)
const CONTENT = 'A shelf of mugs, made by hand. '.repeat(40)

const challenges: Record<string, string> = {
  Cloudflare: page('Just a moment...', '<h1>shop.example</h1><p>Verifying you are human. Ray ID: 1</p>'),
  Akamai: page(
    'Access Denied',
    `<h1>Access Denied</h1>You don't have permission to access "http://shop.example/" on this server.<p>Reference #18.c4a2f748.1700000000.1a2b3c</p>`,
  ),
  Imperva: page(
    '',
    '<iframe src="/_Incapsula_Resource?SWUDNSAI=31">Request unsuccessful. Incapsula incident ID: 1</iframe>',
  ),
  DataDome: page(
    'shop.example',
    '<iframe src="https://geo.captcha-delivery.com/captcha/?initialCid=1"></iframe>',
  ),
  HUMAN: page('Access to this page has been denied.', '<div id="px-captcha"></div>'),
  Vercel: page('Vercel Security Checkpoint', '<p>We are verifying your browser</p>'),
  hCaptcha: page(
    'One step',
    '<p>Please verify you are human</p><div class="h-captcha" data-sitekey="1"></div>',
  ),
}
const errors: Record<string, string> = {
  'server error': page(
    '502 Bad Gateway',
    '<center><h1>502 Bad Gateway</h1></center><hr><center>nginx</center>',
  ),
  'Next.js': page(
    'Shop',
    'Application error: a client-side exception has occurred (see the browser console).',
  ),
  'React Router': page('Shop', '<h2>Unexpected Application Error!</h2><h3>x is not a function</h3>'),
  WordPress: page('Database Error', '<h1>Error establishing a database connection</h1>'),
  script: page('Shop', '<div><h1>Something went wrong</h1><p>Try again later.</p></div>'),
}

describe('a snapshot that is no page', () => {
  for (const [mark, html] of Object.entries(challenges)) {
    it(`${mark} asks for a human`, () => {
      assert.deepEqual(judge(html), { kind: 'challenge', mark })
      assert.deepEqual(judge(html, 403), { kind: 'challenge', mark })
    })
    it(`a page that holds the same beside its content is one (${mark})`, () => {
      const longer = html.replace('</body>', `<p>${CONTENT}</p></body>`)
      assert.equal(judge(longer), null)
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

  it('the limit of length: at it and one past it', () => {
    const shell = (chars: number) => page('', `Something went wrong ${'x'.repeat(chars - 21)}`)
    assert.equal(judge(shell(TEXT_LIMIT_CHARS))?.kind, 'error-page')
    assert.equal(judge(shell(TEXT_LIMIT_CHARS + 1)), null)
  })

  it('a response that says so is a challenge before anything is read', () => {
    assert.equal(challengerOf([{ name: 'CF-Mitigated', value: 'challenge' }]), 'Cloudflare')
    assert.equal(challengerOf([{ name: 'server', value: 'cloudflare' }]), null)
  })
})

describe('in a real render', () => {
  const rendererStarted = startTestRenderer()
  after(async () => (await rendererStarted).close())

  it('shells that scripts draw, challenges by header, and pages that say what they are', async () => {
    const { routes, page: render } = await rendererStarted
    routes.set('/broken', scripted(`document.body.innerHTML = '<h1>Something went wrong</h1>'`))
    assert.deepEqual(await render('/broken'), { kind: 'error-page', mark: 'script' })
    routes.set(
      '/own',
      scripted(
        `document.body.innerHTML = '<h1>Something went wrong</h1>'`,
        '<meta name="prerender-status-code" content="200">',
      ),
    )
    assert.equal((await render('/own')).kind, 'rendered')
    routes.set(
      '/challenge',
      (_request, response) =>
        void response
          .writeHead(403, { 'content-type': 'text/html', 'cf-mitigated': 'challenge' })
          .end('<p>wait'),
    )
    assert.deepEqual(await render('/challenge'), { kind: 'challenge', mark: 'Cloudflare' })
  })
})
