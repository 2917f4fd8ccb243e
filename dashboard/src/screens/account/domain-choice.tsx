import { Checkbox, NativeSelect, Stack, TextInput } from '@mantine/core'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { portfolioQuery, tagsQuery } from '../../api/portfolio-queries.ts'
import { domainsQuery } from '../../api/queries.ts'
import { Note } from '../../parts/page.tsx'
import classes from './domain-choice.module.css'

/** `label`: what the group is called. A tag adds its domains, which are stored: a site that gets the tag later is not added. */
export function DomainChoice(props: {
  label?: string
  chosen: readonly string[]
  error: string | undefined
  onChange: (chosen: string[]) => void
}) {
  const { label = 'Domains', chosen, error, onChange } = props
  const domains = useQuery(domainsQuery)
  const tags = useQuery(tagsQuery)
  const queries = useQueryClient()
  const [search, setSearch] = useState('')
  const names = domains.data?.map(({ custom_domain: name }) => name) ?? []
  const sought = search.trim().toLowerCase()
  const found = names.filter((name) => name.includes(sought))
  const toggle = (name: string, isChosen: boolean) =>
    onChange(isChosen ? [...chosen, name] : chosen.filter((each) => each !== name))
  const addTagged = async (tag: string) => {
    const filter = { search: '', state: null, tag, sort: 'name' as const }
    const { domains: tagged } = await queries.fetchQuery({ ...portfolioQuery(filter), staleTime: 0 })
    onChange([...new Set([...chosen, ...tagged.map(({ custom_domain: name }) => name)])])
  }
  return (
    <Stack gap="xs" role="group" aria-label={label}>
      {tags.data !== undefined && tags.data.length > 0 && (
        <NativeSelect
          label="Add all with the tag"
          value=""
          data={[
            { value: '', label: 'Choose a tag' },
            ...tags.data.map(({ name, domains: number }) => ({ value: name, label: `${name} (${number})` })),
          ]}
          onChange={(event) => void addTagged(event.currentTarget.value)}
        />
      )}
      {names.length > 10 && (
        <TextInput
          type="search"
          label="Find a domain"
          value={search}
          onChange={(event) => setSearch(event.currentTarget.value)}
        />
      )}
      <div className={classes.domains}>
        {found.map((name) => (
          <Checkbox
            key={name}
            label={name}
            checked={chosen.includes(name)}
            onChange={(event) => toggle(name, event.currentTarget.checked)}
          />
        ))}
        {found.length === 0 && <Note size="sm">No domain has this in its name.</Note>}
      </div>
      <Note role="status">{chosen.length} chosen</Note>
      {error !== undefined && (
        <Note role="status" c="red">
          {error}
        </Note>
      )}
    </Stack>
  )
}
