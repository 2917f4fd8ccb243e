// Custom properties that a script registers exist nowhere in the markup: write them as rules into the snapshot.
{
  let rules = ''
  intercept(window.CSS, 'registerProperty', (native, self, given) => {
    const result = apply(native, self, given)
    const { name, syntax = '*', inherits, initialValue } = given[0]
    const initial = initialValue === undefined ? '' : ` initial-value: ${initialValue};`
    rules += `@property ${name} { syntax: ${quoted(`${syntax}`)}; inherits: ${Boolean(inherits)};${initial} }\n`
    return result
  })
  /** @param {string} text */
  const quoted = (text) => `"${text.replace(/["\\]/g, '\\$&')}"`
  beforeCapture[beforeCapture.length] = () => writeRules(rules)
}
