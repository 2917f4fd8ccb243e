import { z } from 'zod'

const TAGS_LIMIT = 20
export const TAG_LIMIT_CHARS = 40

/** Control characters, and those that separate tags in files. */
const NOT_IN_TAGS = /[\p{Cc},;]/u

/** Tags that differ only in case are one: the first. The problem is one of the whole list. */
export const tagsSchema = z
  .array(z.string({ error: 'must be a list of texts' }), { error: 'must be a list of texts' })
  .max(1_000, 'must have at most 20 entries')
  .transform((given) => uniqueTags(given.map((tag) => tag.trim())))
  .superRefine((tags, context) => {
    const problem = tagsProblem(tags)
    if (problem !== null) context.addIssue({ code: 'custom', message: problem })
  })

/** Returns what is wrong with the tags of one domain, to be read after "tags", or null. */
export function tagsProblem(tags: readonly string[]): string | null {
  if (tags.length > TAGS_LIMIT) return `must have at most ${TAGS_LIMIT} entries`
  if (tags.some((tag) => tag === '' || [...tag].length > TAG_LIMIT_CHARS)) {
    return `must have 1 to ${TAG_LIMIT_CHARS} characters each`
  }
  if (tags.some((tag) => NOT_IN_TAGS.test(tag) || !tag.isWellFormed())) {
    return 'must not contain commas, semicolons or control characters'
  }
  return null
}

/** How tags are compared. */
export const tagKey = (tag: string): string => tag.toLowerCase()

export function uniqueTags(tags: readonly string[]): string[] {
  const known = new Map<string, string>()
  for (const tag of tags) if (!known.has(tagKey(tag))) known.set(tagKey(tag), tag)
  return [...known.values()]
}

export const replaceTagsBody = z.object({ tags: tagsSchema })

export const replaceTagsAnswer = z.object({ tags: z.array(z.string()) })

export const listTagsAnswer = z.object({
  tags: z.array(z.object({ name: z.string(), domains: z.int().describe('How many have it') })),
})
