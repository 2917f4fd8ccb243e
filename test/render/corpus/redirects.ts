import { scripted } from '../../support/renderer.ts'
import { html, json, page, status, type Theme } from '../corpus-page.ts'

/** Ways to another address, and what only looks like one. */
export const redirects: Theme = {
  name: 'redirects',
  pages: [
    {
      name: 'moved for good',
      why: 'The redirect is the answer: a crawler must learn the new address.',
      routes: { '': status(301, { location: 'new' }), new: page('<p>new</p>') },
      expect: { outcome: 'redirect', status: 301, location: 'new' },
    },
    {
      name: 'moved with the method kept',
      why: '307 and 308 are redirects too.',
      routes: { '': status(308, { location: '/elsewhere?q=1#part' }) },
      expect: { outcome: 'redirect', status: 308, location: '/elsewhere?q=1#part' },
    },
    {
      name: 'a chain of redirects',
      why: 'Each step is told as it is, so that the crawler walks it itself.',
      routes: { '': status(302, { location: 'two' }), two: status(301, { location: 'three' }) },
      expect: { outcome: 'redirect', status: 302, location: 'two' },
    },
    {
      name: 'a redirect to itself',
      why: 'A loop, which ends at its first step.',
      routes: { '': status(302, { location: './' }) },
      expect: { outcome: 'redirect', status: 302, location: '' },
    },
    {
      name: 'a redirect to another site',
      why: 'Told, and never followed.',
      routes: { '': status(302, { location: 'https://elsewhere.example/x' }) },
      expect: { outcome: 'redirect', status: 302, location: 'https://elsewhere.example/x' },
    },
    {
      name: 'a redirect to what is no page',
      why: 'A mail address or a script is no place for a crawler.',
      routes: { '': status(302, { location: 'javascript:alert(1)' }) },
      expect: { outcome: 'not-html' },
    },
    {
      name: 'a redirect without an address',
      why: 'The body is all there is.',
      routes: { '': html(page('<p>several choices</p>'), { status: 300 }) },
      expect: { status: 300, reads: ['several choices'] },
    },
    {
      name: 'a redirect by script',
      why: 'The snapshot would be that of a page in between.',
      routes: { '': scripted(`show('one moment'); location.href = 'next'`), next: page('<p>next</p>') },
      expect: { outcome: 'redirect', status: 302, location: 'next' },
    },
    {
      name: 'a redirect by script after a request and a timer',
      why: 'It comes when the page looks done.',
      routes: {
        '': scripted(
          `show('checking'); fetch('who.json').then((r) => r.json()).then(() => setTimeout(() => location.replace('sign-in?from=' + encodeURIComponent(location.pathname)), 1500))`,
        ),
        'who.json': json({}),
      },
      expect: {
        outcome: 'redirect',
        status: 302,
        location: 'sign-in?from=%2Fa-redirect-by-script-after-a-request-and-a-timer%2F',
      },
    },
    {
      name: 'a redirect by meta refresh',
      why: 'Old, and everywhere.',
      routes: { '': page('<p>moved</p>', '<meta http-equiv="refresh" content="0; url=next">') },
      expect: { outcome: 'redirect', status: 302, location: 'next' },
    },
    {
      name: 'a redirect by meta refresh after three seconds',
      why: 'Time for people to read; a crawler is sent on.',
      routes: { '': page('<p>we have moved</p>', '<meta http-equiv="refresh" content="3; url=next">') },
      expect: { outcome: 'redirect', status: 302, location: 'next' },
    },
    {
      name: 'a redirect by the Refresh header',
      why: 'The same in the head of the answer.',
      routes: { '': html(page('<p>moved</p>'), { headers: { refresh: '0; url=next' } }) },
      expect: { outcome: 'redirect', status: 302, location: 'next' },
    },
    {
      name: 'a page that refreshes itself after minutes',
      why: 'News sites do; it is no redirect.',
      routes: { '': page('<p>the news</p>', '<meta http-equiv="refresh" content="300">') },
      expect: { reads: ['the news'] },
    },
    {
      name: 'a redirect by a form and by a click',
      why: 'Scripts press buttons.',
      routes: {
        '': page(
          `<form action="result"><input name="q" value="kettle"></form><script>document.forms[0].submit()</script>`,
        ),
      },
      expect: { outcome: 'redirect', status: 302, location: 'result?q=kettle' },
    },
    {
      name: 'a link that a script follows',
      why: 'A click is a navigation like any other.',
      routes: { '': page(`<a href="next">go</a><script>document.querySelector('a').click()</script>`) },
      expect: { outcome: 'redirect', status: 302, location: 'next' },
    },
    {
      name: 'a frame that takes over the window',
      why: 'Frame busters send the whole window away.',
      routes: {
        '': page('<iframe src="inner"></iframe>'),
        inner: '<script>top.location.href = "out"</script>',
      },
      expect: { outcome: 'redirect', status: 302, location: 'out' },
    },
    {
      name: 'a frame that goes elsewhere',
      why: 'That is the business of the frame.',
      routes: {
        '': page('<p>outer</p><iframe src="inner"></iframe>'),
        inner: '<script>location.href = "other"</script>',
        other: '<p>x</p>',
      },
      expect: { reads: ['outer'] },
    },
    {
      name: 'another hash',
      why: 'The same document: no redirect, and no new load.',
      routes: {
        '': scripted(
          `addEventListener('hashchange', () => show('at ' + location.hash)); location.hash = 'part'`,
        ),
      },
      expect: { reads: ['at #part'] },
    },
    {
      name: 'history pushed and replaced',
      why: 'The address bar changes without a load; the page stays under the path that was asked for.',
      routes: {
        '': scripted(
          `history.replaceState({}, '', '?tab=1'); history.pushState({}, '', 'other/place'); show('at ' + location.pathname.split('/').slice(2).join('/'))`,
        ),
      },
      expect: { reads: ['at other/place'] },
    },
    {
      name: 'a router of the Navigation API',
      why: 'It intercepts navigations, which then are none.',
      routes: {
        '': scripted(
          `navigation.addEventListener('navigate', (event) => event.intercept({ handler: async () => show('routed to ' + new URL(event.destination.url).search) })); navigation.navigate('?view=2')`,
        ),
      },
      expect: { reads: ['routed to ?view=2'] },
    },
    {
      name: 'an address of another kind',
      why: 'mailto and custom schemes open programs, not pages.',
      routes: {
        '': scripted(
          `location.href = 'mailto:a@example.com'; setTimeout(() => { location.href = 'whatsapp://send' }, 300); setTimeout(() => show('still here'), 800)`,
        ),
      },
      expect: { reads: ['still here'] },
    },
    {
      name: 'a page that reloads once',
      why: 'To take a cookie or a new version: the second load is the page.',
      routes: {
        '': scripted(
          `if (sessionStorage.getItem('seen')) show('second load'); else { sessionStorage.setItem('seen', '1'); location.reload() }`,
        ),
      },
      expect: { reads: ['second load'] },
    },
    {
      name: 'a page that reloads for ever',
      why: 'There is no page in it.',
      routes: { '': scripted(`show('again'); location.reload()`) },
      expect: { outcome: 'timed-out' },
    },
    {
      name: 'windows that are opened',
      why: 'A second window is no part of the page, and must not stay open in the browser.',
      routes: {
        '': scripted(
          `const other = open('popup'); show('window ' + (other === null ? 'refused' : 'opened')); setTimeout(() => show('later'), 500)`,
        ),
        popup: page('<p>popup</p>'),
      },
      expect: { reads: ['window', 'later'] },
    },
  ],
}
