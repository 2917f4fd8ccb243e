import { scripted } from '../../support/renderer.ts'
import { page, type Theme } from '../corpus-page.ts'

/** Scripts that fail, hang, flood, or change what a renderer relies on. */
export const trouble: Theme = {
  dialogs: {
    document: scripted`alert('hello'); show('confirm ' + confirm('sure?')); show('prompt ' + prompt('name?')); print(); show('after')`,
    expect: { reads: ['confirm false', 'prompt null', 'after'] },
  },
  'a page that does not want to be left': {
    visits: 2,
    document: scripted`addEventListener('beforeunload', (event) => { event.preventDefault(); event.returnValue = 'stay' }); addEventListener('unload', () => localStorage.setItem('was', 'here')); show('was ' + localStorage.getItem('was'))`,
    expect: { reads: ['was null'] },
  },
  'document.write, while parsing and after': {
    document: page`<script>document.write('<p>written in time</p>')</script><script>setTimeout(() => { document.open(); document.write('<!DOCTYPE html><title>new</title><p>a new document</p><script>setTimeout(() => document.body.append("and its timer"), 900)<\\/script>'); document.close() }, 300)</script>`,
    expect: { reads: ['a new document', 'and its timer'], readsNot: ['written in time'] },
  },
  'timers that are replaced': {
    document: scripted`const real = setTimeout; window.setTimeout = (f, ms, ...rest) => real(() => { f(...rest) }, ms); const raf = requestAnimationFrame.bind(window); window.requestAnimationFrame = (f) => raf((now) => f(now))
          window.Promise = class extends Promise {}; setTimeout(() => requestAnimationFrame(() => show('through both')), 700)`,
    expect: { reads: ['through both'] },
  },
  'a page that removes its own document': {
    document: page`<p>x</p><script>setTimeout(() => document.documentElement.remove(), 100)</script>`,
    expect: { outcome: 'not-html' },
  },
  'a page without a body': {
    document:
      '<!DOCTYPE html><html><head><title>t</title></head><frameset cols="*"><frame src="inner"></frameset></html>',
    parts: { inner: '<p>x</p>' },
    expect: { has: ['<frameset cols="*"><frame src="inner"></frameset>'] },
  },
}
