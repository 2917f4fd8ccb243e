import type { SelectorProblem } from '@prepaint/contract/outcome/renderer.ts'
import type { BrowserProcess } from './browser/browser-process.ts'
import { closeContext, openContext } from './tab/tab.ts'

/** No server listens there: a page that only parses selectors needs no network. */
const CLOSED_PROXY = 'http://127.0.0.1:9'

/** Runs in a page. An empty fragment finds nothing, but refuses what it cannot parse. */
const FIND_PROBLEMS = `function (selectors) {
  const nothing = document.createDocumentFragment()
  return selectors.flatMap((selector) => {
    try {
      nothing.querySelector(selector)
      return []
    } catch (error) {
      return [{ selector, reason: error.message }]
    }
  })
}`

/** Returns the selectors that this browser refuses, in the order given. They are an argument, and never part of a script. */
export async function checkSelectors(
  browser: BrowserProcess,
  selectors: readonly string[],
): Promise<SelectorProblem[]> {
  const browserContextId = await openContext(browser, CLOSED_PROXY)
  try {
    const { cdp } = browser
    const { targetId } = await cdp.browser.send('Target.createTarget', {
      url: 'about:blank',
      browserContextId,
    })
    const { sessionId } = await cdp.browser.send('Target.attachToTarget', { targetId, flatten: true })
    const page = cdp.session(sessionId)
    const { result: window } = await page.send('Runtime.evaluate', { expression: 'window' })
    const { result, exceptionDetails } = await page.send('Runtime.callFunctionOn', {
      objectId: window.objectId!,
      functionDeclaration: FIND_PROBLEMS,
      arguments: [{ value: selectors }],
      returnByValue: true,
    })
    if (exceptionDetails !== undefined) throw new Error(`selectors: ${exceptionDetails.text}`)
    return result.value
  } finally {
    await closeContext(browser, browserContextId)
  }
}
