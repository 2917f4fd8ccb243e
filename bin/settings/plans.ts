import { readFileSync } from 'node:fs'
import { type PlanCatalogue, planCatalogueSchema } from '@prepaint/contract/settings/plans.ts'

/** JSON: plan fields by plan name. The error names the file and every invalid field. */
export function readPlans(file: string): PlanCatalogue {
  let json: unknown
  try {
    json = JSON.parse(readFileSync(file, 'utf8'))
  } catch (cause) {
    throw new Error(`plan catalogue ${file}: ${(cause as Error).message}`, { cause })
  }
  const parsed = planCatalogueSchema.safeParse(json)
  if (parsed.success) return Object.freeze(parsed.data)
  const problems = parsed.error.issues.map((issue) => {
    const words = issue.code === 'invalid_key' ? issue.issues.map(({ message }) => message) : [issue.message]
    return `${issue.path.join('.') || 'catalogue'}: ${words.join(', ')}`
  })
  throw new Error(`plan catalogue ${file}: ${problems.join('; ')}`)
}
