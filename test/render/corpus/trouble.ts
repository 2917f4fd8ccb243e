import { PAGE_LIMITS } from '../../../src/render/outcome.ts'
import { scripted } from '../../support/renderer.ts'
import { page, type Theme } from '../corpus-page.ts'

/** A document whose snapshot has exactly so many bytes, most of them data in a script, as large shops have it. */
function ofBytes(bytes: number): string {
  const around = (data: string) =>
    `<!DOCTYPE html>\n<html><head><meta charset="utf-8"><title>t</title></head><body><p>shop</p><script type="application/json">${data}</script></body></html>\n`
  return around('7'.repeat(bytes - around('').length))
}

/** Scripts that fail, hang, flood, or change what a renderer relies on. */
export const trouble: Theme = {
  name: 'trouble',
  pages: [
    {
      name: 'an error in the middle',
      why: 'What was there before it, and what comes from other scripts, stays.',
      routes: {
        '': page(
          `<ul id="out"></ul><script>out.append('before, '); undefined.x</script><script>out.append('after')</script><script>this is no script</script>`,
        ),
      },
      expect: { reads: ['before, after'] },
    },
    {
      name: 'unhandled rejections',
      why: 'A thousand of them change nothing.',
      routes: {
        '': scripted(
          `for (let n = 0; n < 1000; n++) Promise.reject(new Error('x' + n)); setTimeout(() => show('content'), 300)`,
        ),
      },
      expect: { reads: ['content'] },
    },
    {
      name: 'a storm on the console',
      why: 'Each message goes to the debugger, with its arguments.',
      routes: {
        '': scripted(
          `const big = { text: 'x'.repeat(2000) }; for (let n = 0; n < 5000; n++) console.error('trouble', n, big); show('content')`,
        ),
      },
      expect: { reads: ['content'] },
    },
    {
      name: 'a loop that never ends',
      why: 'Nothing in the page can be asked any more.',
      routes: { '': scripted(`show('before'); setTimeout(() => { while (true); }, 50)`) },
      expect: { outcome: 'timed-out' },
    },
    {
      name: 'microtasks that never end',
      why: 'The same without a loop.',
      routes: {
        '': scripted(`show('before'); const spin = () => queueMicrotask(spin); setTimeout(spin, 50)`),
      },
      expect: { outcome: 'timed-out' },
    },
    {
      name: 'half a second of work',
      why: 'A busy script looks like a page that is done.',
      routes: {
        '': scripted(
          `setTimeout(() => { let sum = 0; for (let n = 0; n < 2e8; n++) sum += n % 7; show('sum ' + (sum > 0)) }, 100)`,
        ),
      },
      expect: { reads: ['sum true'] },
    },
    {
      name: 'memory without end',
      why: 'The page dies; the browser and everybody else in it must not.',
      routes: {
        '': scripted(
          `show('before'); const all = []; setTimeout(() => { for (;;) all.push(new Array(33e6).fill(0)) }, 10)`,
        ),
      },
      expect: { outcome: 'too-large' },
    },
    {
      name: 'recursion without end',
      why: 'It fails, and the page goes on.',
      routes: { '': scripted(`try { (function again() { again() })() } catch (error) { show(error.name) }`) },
      expect: { reads: ['RangeError'] },
    },
    {
      name: 'twenty thousand elements',
      why: 'Everything that walks the document has to be linear.',
      routes: { '': scripted(`for (let n = 0; n < 20000; n++) show('row ' + n)`) },
      expect: { reads: ['row 0', 'row 19999'] },
    },
    {
      name: 'elements four hundred deep',
      why: 'Parsers give up at 512; a recursive walk gives up sooner.',
      routes: {
        '': scripted(
          `let at = out; for (let n = 0; n < 400; n++) { const div = document.createElement('div'); at.append(div); at = div } at.append('the bottom')`,
        ),
      },
      expect: { reads: ['the bottom'] },
    },
    {
      name: 'a snapshot of exactly the limit',
      why: 'The limit itself is allowed.',
      routes: { '': ofBytes(PAGE_LIMITS.snapshotBytes) },
      expect: { reads: ['shop'], has: ['777'] },
    },
    {
      name: 'a snapshot of one byte more',
      why: 'One past it is not.',
      routes: { '': ofBytes(PAGE_LIMITS.snapshotBytes + 1) },
      expect: { outcome: 'too-large' },
    },
    {
      name: 'dialogs',
      why: 'They get no answer, and scripts stand still until they do.',
      routes: {
        '': scripted(
          `alert('hello'); show('confirm ' + confirm('sure?')); show('prompt ' + prompt('name?')); print(); show('after')`,
        ),
      },
      expect: { reads: ['confirm false', 'prompt null', 'after'] },
    },
    {
      name: 'a page that does not want to be left',
      why: 'beforeunload asks whether to go, when the tab is cleaned.',
      visits: 2,
      routes: {
        '': scripted(
          `addEventListener('beforeunload', (event) => { event.preventDefault(); event.returnValue = 'stay' }); addEventListener('unload', () => localStorage.setItem('was', 'here')); show('was ' + localStorage.getItem('was'))`,
        ),
      },
      expect: { reads: ['was null'] },
    },
    {
      name: 'a page that closes itself',
      why: 'The tab is not its own to close.',
      routes: { '': scripted(`window.close(); setTimeout(() => show('still open'), 500)`) },
      expect: { reads: ['still open'] },
    },
    {
      name: 'document.write, while parsing and after',
      why: 'Late, it replaces the whole document.',
      routes: {
        '': page(
          `<script>document.write('<p>written in time</p>')</script><script>setTimeout(() => { document.open(); document.write('<!DOCTYPE html><title>new</title><p>a new document</p><script>setTimeout(() => document.body.append("and its timer"), 900)<\\/script>'); document.close() }, 300)</script>`,
        ),
      },
      expect: { reads: ['a new document', 'and its timer'], readsNot: ['written in time'] },
    },
    {
      name: 'document.open without a close',
      why: 'The document goes on loading for ever.',
      routes: {
        '': page(
          `<script>setTimeout(() => { document.open(); document.write('<!DOCTYPE html><p>left open</p>') }, 300)</script>`,
        ),
      },
      expect: { reads: ['left open'] },
    },
    {
      name: 'built-in functions that are replaced',
      why: 'Old libraries put their own in place of Array, JSON, Promise, timers and selectors.',
      routes: {
        '': scripted(`show('content'); Array.prototype.map = Array.prototype.filter = Array.prototype.flatMap = () => { throw new Error('map') }; Array.prototype.extra = 1; Object.prototype.stray = 1
          JSON.stringify = () => 'broken'; Map.prototype.get = Map.prototype.set = () => { throw 1 }; Element.prototype.querySelectorAll = Document.prototype.querySelectorAll = () => []
          Element.prototype.getHTML = () => 'forged'; Object.defineProperty(Element.prototype, 'outerHTML', { get: () => 'forged' }); Array.prototype[Symbol.iterator] = function* () {}`),
      },
      expect: { reads: ['content'], hasNot: ['forged'] },
    },
    {
      name: 'timers that are replaced',
      why: 'Zones and test clocks wrap setTimeout and requestAnimationFrame; what we need was taken before.',
      routes: {
        '': scripted(`const real = setTimeout; window.setTimeout = (f, ms, ...rest) => real(() => { f(...rest) }, ms); const raf = requestAnimationFrame.bind(window); window.requestAnimationFrame = (f) => raf((now) => f(now))
          window.Promise = class extends Promise {}; setTimeout(() => requestAnimationFrame(() => show('through both')), 700)`),
      },
      expect: { reads: ['through both'] },
    },
    {
      name: 'a page that removes its own document',
      why: 'There is nothing to write down.',
      routes: {
        '': page(`<p>x</p><script>setTimeout(() => document.documentElement.remove(), 100)</script>`),
      },
      expect: { outcome: 'not-html' },
    },
    {
      name: 'a page without a body',
      why: 'Framesets have none.',
      routes: {
        '': '<!DOCTYPE html><html><head><title>t</title></head><frameset cols="*"><frame src="inner"></frameset></html>',
        inner: '<p>x</p>',
      },
      expect: { has: ['<frameset cols="*"><frame src="inner"></frameset>'] },
    },
  ],
}
