import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Page } from 'playwright-core'

const source = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

const COLOUR_RULES = ['color-contrast', 'link-in-text-block']

/** Findings of the current screen, on wide screens and phones, light and dark. */
export async function axeEverywhere(page: Page): Promise<string[]> {
  const found: string[] = []
  const wide = page.viewportSize() ?? { width: 1280, height: 720 }
  for (const size of [wide, { width: 390, height: 844 }]) {
    await page.setViewportSize(size)
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme })
      await page.locator(`html[data-mantine-color-scheme=${colorScheme}]`).waitFor()
      await transitionsEnded(page)
      // Dark differs by its colours only.
      const findings = await axeFindings(page, colorScheme === 'dark' ? COLOUR_RULES : null)
      found.push(...findings.map((line) => `${colorScheme}, ${size.width} px: ${line}`))
    }
  }
  await page.emulateMedia({ colorScheme: 'light' })
  await page.setViewportSize(wide)
  return found
}

/** Colours on their way from one scheme to the other have any contrast. */
const transitionsEnded = (page: Page) =>
  page.evaluate(
    `Promise.allSettled(document.getAnimations().filter((each) => each instanceof CSSTransition).map((each) => each.finished)).then(() => undefined)`,
  )

type Finding = { id: string; help: string; nodes: { target: unknown[]; failureSummary?: string }[] }

/** Findings against WCAG 2.2 A and AA and axe's best practices, a line for each element. */
export async function axeFindings(page: Page, rules: string[] | null = null): Promise<string[]> {
  // Evaluated by the debugger, which ignores the content security policy.
  await page.evaluate(source)
  const violations = await page.evaluate(async (runOnly) => {
    const { axe } = globalThis as unknown as {
      axe: { run(options: { runOnly?: string[] }): Promise<{ violations: Finding[] }> }
    }
    return (await axe.run(runOnly === null ? {} : { runOnly })).violations
  }, rules)
  return violations.flatMap(({ id, help, nodes }) =>
    nodes.map(({ target, failureSummary }) => `${id}: ${help}: ${target.join(' ')}: ${failureSummary ?? ''}`),
  )
}
