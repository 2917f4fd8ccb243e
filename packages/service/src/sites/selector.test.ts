import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { selectorProblem } from './selector.ts'

describe('selectors, as browsers read them', () => {
  const good = [
    ...['#price', '.a > .b', 'a[href^="x" i]', ':has(> img)', 'li:nth-child(2n+1 of .x)', 'a , b'],
    ...['p:nth-child( -n + 3 )', ':not(.a,.b)', '.\\@md\\:x', ':lang(de)', '*|a', 'ünï', '[x=a]', '--x'],
    ...['li:not(:first-child) ~ a', 'button[aria-label="x, (y]"]', 'a:hover', 'my-element'],
    ...[':not(:not(:not(:nth-child(2n))))', ':HOVER', '.--x', '[a="(((((("]', '[a="(((((("] b:not([c=")"])'],
    ...[':nth-child(2n+1 of li, .a)', '#\\31 a', '.a\\,', 'a.b#c[d]:hover > *', ':lang("de", fr)', '[|a]'],
  ]
  for (const selector of good) it(selector, () => assert.equal(selectorProblem(selector), null))
  const bad = [
    ...['', ' ', '..a', 'a,,b', 'a >', '> a', ':is()', 'a[b!=c]', 'svg|a', 'a::before', ':contains(x)'],
    ...['#1a', 'a:nth-child(foo)', '[data-x=1]', '[x=a b]', 'a || b', 'a < b', 'div:nth-child(', '"'],
    ...['a{b}', ':host', 'a]', 'a:eq(1)', 'a!b', '%', '@media', 'a;b', '$x', 'a\0b', '[a', '[a="b]'],
    ...['#price)', '.a, .b)', '[a]) , (', 'a:lang(x;})', 'a,', '[=a]', '[a=]', '.a*', '[a]b', '& a', '#-1'],
    ...['a|b|c', ':dir(x y)', ':nth-of-type(2n of b)', ':hover()', ':has(> )', '[a="b" x]', ':not(::before)'],
    ...[':not()', 'a > > b', ':not(:not(:not(:not(a))))', ':has(a):has(b)', ':is(> a)', '[a="x\ny"]'],
    ...['video:playing', ':paused', ':buffering', 'a[x~=y s]'],
    ...[':not('.repeat(99), ':is(:is(:is(:is(:is(a)))))', ':nth-child(2n of :is(:is(:is(a))))'],
  ]
  for (const selector of bad)
    it(`not ${JSON.stringify(selector)}`, () => assert.notEqual(selectorProblem(selector), null))
})
