import { Checkbox, Stack, TextInput } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { domainsQuery } from '../../api/queries.ts'
import { Note } from '../../parts/page.tsx'
import classes from './domain-choice.module.css'

/** Chooses some of the account's domains by name. */
export function DomainChoice(props: {
  chosen: readonly string[]
  error: string | undefined
  onChange: (chosen: string[]) => void
}) {
  const { chosen, error, onChange } = props
  const domains = useQuery(domainsQuery)
  const [search, setSearch] = useState('')
  const names = domains.data?.map(({ custom_domain: name }) => name) ?? []
  const sought = search.trim().toLowerCase()
  const found = names.filter((name) => name.includes(sought))
  const toggle = (name: string, isChosen: boolean) =>
    onChange(isChosen ? [...chosen, name] : chosen.filter((each) => each !== name))
  return (
    <Stack gap="xs" role="group" aria-label="Domains">
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
