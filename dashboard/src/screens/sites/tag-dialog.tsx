import { Stack, TagsInput, Text } from '@mantine/core'
import { TAG_LIMIT_CHARS, tagKey, tagsProblem, uniqueTags } from '@prepaint/contract/api/tags.ts'
import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { tagsQuery } from '../../api/portfolio-queries.ts'
import type { PortfolioDomain } from '../../api/types.ts'
import { counted } from '../../format.ts'
import { FormDialog } from '../../parts/dialog.tsx'
import { namesOf, report, type SendBulk } from './bulk-bar.tsx'

/** Tags that every site has are shown; taking one away removes it, and a new one is added to all. */
export function TagDialog(props: { sites: readonly PortfolioDomain[]; onClose: () => void; send: SendBulk }) {
  const { sites, onClose, send } = props
  const known = useQuery(tagsQuery)
  const [before] = useState(() => commonTags(sites))
  const [tags, setTags] = useState<string[]>(before)
  const [removed, setRemoved] = useState<string[]>([])
  const some = uniqueTags(sites.flatMap((site) => site.tags)).filter((tag) => !hasTag(before, tag))
  const problem = tagsProblem(tags)
  const save = useMutation({
    mutationFn: async () => {
      const add = tags.filter((tag) => !hasTag(before, tag))
      const remove = [...before.filter((tag) => !hasTag(tags, tag)), ...removed]
      if (add.length + remove.length === 0) return
      const undo = () => void undoTags(sites, add, remove, send)
      const done = `Tags of ${counted(sites.length, 'site')} changed`
      await report(() => send({ action: 'tag', domains: namesOf(sites), add, remove }), done, undo)
    },
    onSuccess: onClose,
  })
  return (
    <FormDialog
      title={`Tags of ${sites.length === 1 ? sites[0]!.custom_domain : counted(sites.length, 'site')}`}
      label="Save tags"
      sent={save}
      onSubmit={() => problem === null && save.mutate()}
      onClose={onClose}
    >
      <Stack gap="sm">
        <TagsInput
          label={sites.length === 1 ? 'Tags' : 'Tags of all these sites'}
          description="A client’s name, for example. Enter adds a tag."
          data={known.data?.map(({ name }) => name) ?? []}
          value={tags}
          onChange={(given) =>
            setTags(uniqueTags(given.map((tag) => tag.trim()).filter((tag) => tag !== '')))
          }
          // Without text, Enter would send the form.
          onKeyDown={(event) => event.key === 'Enter' && event.preventDefault()}
          splitChars={[',', ';']}
          maxTags={20}
          error={problem === null ? undefined : `Tags ${problem}`}
          openOnFocus={false}
          clearable
          data-autofocus
        />
        {some.length > 0 && (
          <TagsInput
            label="Remove from the sites that have them"
            data={some}
            value={removed}
            onKeyDown={(event) => event.key === 'Enter' && event.preventDefault()}
            onChange={(given) => setRemoved(given.filter((tag) => hasTag(some, tag)))}
            maxTags={20}
          />
        )}
        <Text size="xs" className="quiet">
          At most 20 tags a site, of {TAG_LIMIT_CHARS} characters each. Case makes no difference.
        </Text>
      </Stack>
    </FormDialog>
  )
}

function hasTag(tags: readonly string[], tag: string): boolean {
  return tags.some((each) => tagKey(each) === tagKey(tag))
}

function commonTags(sites: readonly PortfolioDomain[]): string[] {
  const [first, ...others] = sites
  return (first?.tags ?? []).filter((tag) => others.every(({ tags }) => hasTag(tags, tag)))
}

/** Gives each tag back to those that had it, and takes it from those that had it not. */
async function undoTags(
  sites: readonly PortfolioDomain[],
  added: readonly string[],
  removed: readonly string[],
  send: SendBulk,
): Promise<void> {
  await report(async () => {
    const results = []
    for (const tag of added) {
      const domains = namesOf(sites.filter(({ tags }) => !hasTag(tags, tag)))
      if (domains.length > 0) results.push(...(await send({ action: 'tag', domains, remove: [tag] })))
    }
    for (const tag of removed) {
      const domains = namesOf(sites.filter(({ tags }) => hasTag(tags, tag)))
      if (domains.length > 0) results.push(...(await send({ action: 'tag', domains, add: [tag] })))
    }
    return results
  }, 'Undone')
}
