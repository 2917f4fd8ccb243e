import { scripted } from '../../support/renderer.ts'
import { page, type Theme } from '../corpus-page.ts'

/** Scripts that fail, hang, flood, or change what a renderer relies on. */
export const trouble: Theme = {
  'an error in the middle': {
    why: 'What was there before it, and what comes from other scripts, stays.',
    document: page`<ul id="out"></ul><script>out.append('before, '); undefined.x</script><script>out.append('after')</script><script>this is no script</script>`,
    expect: { reads: ['before, after'] },
  },
  'half a second of work': {
    why: 'A busy script looks like a page that is done.',
    document: scripted`setTimeout(() => { let sum = 0; for (let n = 0; n < 2e8; n++) sum += n % 7; show('sum ' + (sum > 0)) }, 100)`,
    expect: { reads: ['sum true'] },
  },
  'twenty thousand elements': {
    why: 'Everything that walks the document has to be linear.',
    document: scripted`for (let n = 0; n < 20000; n++) show('row ' + n)`,
    expect: { reads: ['row 0', 'row 19999'] },
  },
  dialogs: {
    why: 'They get no answer, and scripts stand still until they do.',
    document: scripted`alert('hello'); show('confirm ' + confirm('sure?')); show('prompt ' + prompt('name?')); print(); show('after')`,
    expect: { reads: ['confirm false', 'prompt null', 'after'] },
  },
  'a page that does not want to be left': {
    why: 'beforeunload asks whether to go, when the tab is cleaned.',
    visits: 2,
    document: scripted`addEventListener('beforeunload', (event) => { event.preventDefault(); event.returnValue = 'stay' }); addEventListener('unload', () => localStorage.setItem('was', 'here')); show('was ' + localStorage.getItem('was'))`,
    expect: { reads: ['was null'] },
  },
  'a page that closes itself': {
    why: 'The tab is not its own to close.',
    document: scripted`window.close(); setTimeout(() => show('still open'), 500)`,
    expect: { reads: ['still open'] },
  },
  'document.write, while parsing and after': {
    why: 'Late, it replaces the whole document.',
    document: page`<script>document.write('<p>written in time</p>')</script><script>setTimeout(() => { document.open(); document.write('<!DOCTYPE html><title>new</title><p>a new document</p><script>setTimeout(() => document.body.append("and its timer"), 900)<\\/script>'); document.close() }, 300)</script>`,
    expect: { reads: ['a new document', 'and its timer'], readsNot: ['written in time'] },
  },
  'document.open without a close': {
    why: 'The document goes on loading for ever.',
    document: page`<script>setTimeout(() => { document.open(); document.write('<!DOCTYPE html><p>left open</p>') }, 300)</script>`,
    expect: { reads: ['left open'] },
  },
  'timers that are replaced': {
    why: 'Zones and test clocks wrap setTimeout and requestAnimationFrame; what we need was taken before.',
    document: scripted`const real = setTimeout; window.setTimeout = (f, ms, ...rest) => real(() => { f(...rest) }, ms); const raf = requestAnimationFrame.bind(window); window.requestAnimationFrame = (f) => raf((now) => f(now))
          window.Promise = class extends Promise {}; setTimeout(() => requestAnimationFrame(() => show('through both')), 700)`,
    expect: { reads: ['through both'] },
  },
  'a page that removes its own document': {
    why: 'There is nothing to write down.',
    document: page`<p>x</p><script>setTimeout(() => document.documentElement.remove(), 100)</script>`,
    expect: { outcome: 'not-html' },
  },
  'a page without a body': {
    why: 'Framesets have none.',
    document:
      '<!DOCTYPE html><html><head><title>t</title></head><frameset cols="*"><frame src="inner"></frameset></html>',
    parts: { inner: '<p>x</p>' },
    expect: { has: ['<frameset cols="*"><frame src="inner"></frameset>'] },
  },
}
