import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { isHeaderName, pageMaySet, ruleMaySet } from './headers.ts'

/** What only one of the former two lists refused. */
const REFUSED_TO_RULES_ONLY = 'content-location content-dpr content-script-type cookie x-request-id trailers'
const REFUSED_TO_PAGES_ONLY = `digest repr-digest want-repr-digest want-content-digest no-vary-search nel
  origin-agent-cluster report-to reporting-endpoints x-prerender-throttled`
const REFUSED_TO_BOTH = `connection transfer-encoding content-length content-type content-encoding content-range content-md5
  content-digest set-cookie set-cookie2 te keep-alive trailer upgrade via host date server expect http2-settings status age
  etag last-modified expires vary pragma warning cache-control cache-status cdn-cache-control clear-site-data accept-ranges
  alt-svc www-authenticate authentication-info strict-transport-security public-key-pins public-key-pins-report-only
  service-worker-allowed server-timing x-sendfile x-lighttpd-send-file x-reproxy-url access-control-allow-origin
  cross-origin-opener-policy proxy-authenticate sec-fetch-site surrogate-control x-accel-redirect x-forwarded-for
  x-litespeed-location x-prepaint x-prepaint-variant refresh`
const ALLOWED = `content-disposition content-language content-security-policy content-security-policy-report-only
  content-signal content-usage x-robots-tag link retry-after permissions-policy referrer-policy x-own-thing
  x-frame-options location-of-ours`

const names = (text: string): string[] => text.trim().split(/\s+/)

describe('headers of stored answers', () => {
  for (const name of names(`${REFUSED_TO_RULES_ONLY} ${REFUSED_TO_PAGES_ONLY} ${REFUSED_TO_BOTH}`)) {
    it(`${name} may be set neither by a page nor by a rule, in any case of letters`, () => {
      for (const spelling of [name, name.toUpperCase()]) {
        assert.equal(pageMaySet(spelling), false, spelling)
        assert.equal(ruleMaySet(spelling), false, spelling)
      }
    })
  }

  for (const name of names(ALLOWED)) {
    it(`${name} may be set by a page and by a rule`, () => {
      assert.equal(pageMaySet(name), true)
      assert.equal(ruleMaySet(name), true)
    })
  }

  it('location may be set by a page, and not by a rule', () => {
    assert.equal(pageMaySet('Location'), true)
    assert.equal(ruleMaySet('Location'), false)
  })

  it('a name has 1 to 100 characters of a token', () => {
    assert(isHeaderName('x'.repeat(100)))
    for (const name of ['', 'x'.repeat(101), 'a b', 'a:b', 'ä', 'a\r\n']) assert(!isHeaderName(name), name)
  })
})
