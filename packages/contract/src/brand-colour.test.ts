import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { brandShades, contrast } from './brand-colour.ts'

describe('the shades of a colour', () => {
  it('contrast is that of WCAG', () => {
    assert.equal(contrast('#000000', '#ffffff'), 21)
    assert.equal(contrast('#ffffff', '#ffffff'), 1)
    assert.equal(contrast('#767676', '#ffffff').toFixed(2), '4.54')
  })

  it('a colour that can be read stays as it is', () => {
    const { light, dark } = brandShades('#0f6d5e')
    assert.deepEqual(light, { text: '#0f6d5e', fill: '#0f6d5e' })
    assert.equal(dark.fill, '#0f6d5e')
    assert.equal(brandShades('#ffd400').dark.text, '#ffd400')
  })

  for (const colour of ['#ffffff', '#000000', '#ffd400', '#0000ff', '#ff0000', '#808080', '#7fff00']) {
    it(`${colour} becomes shades that can be read in both schemes`, () => {
      const { light, dark } = brandShades(colour)
      for (const ground of ['#ffffff', '#f7f9f8', '#f1f3f5']) assert(contrast(light.text, ground) >= 4.5)
      for (const ground of ['#131717', '#181d1d', '#2d3635']) assert(contrast(dark.text, ground) >= 4.5)
      for (const fill of [light.fill, dark.fill]) assert(contrast(fill, '#ffffff') >= 4.5)
      assert(contrast(dark.fill, '#181d1d') >= 1.5)
    })
  }

  it('the shade is the nearest one: a little lighter would not do', () => {
    const { text } = brandShades('#ffd400').light
    assert(contrast(text, '#f1f3f5') < 4.7)
  })
})
