import IconWorld from '@tabler/icons-react/dist/esm/icons/IconWorld.mjs'
import { useQuery } from '@tanstack/react-query'
import { useDeferredValue, useState } from 'react'
import { useLocation } from 'wouter'
import { domainsQuery } from '../../api/queries.ts'
import { Finder } from '../../find/finder.tsx'
import { rank } from '../../find/rank.ts'

const SHOWN = 50

/** A search field over all other domains. `pathOf`: the same screen of another domain. */
export function DomainSwitcher({ current, pathOf }: { current: string; pathOf: (domain: string) => string }) {
  const domains = useQuery(domainsQuery)
  const [text, setText] = useState('')
  const sought = useDeferredValue(text)
  const [, navigate] = useLocation()
  const others = domains.data?.filter(({ custom_domain }) => custom_domain !== current) ?? []
  if (others.length === 0) return null
  const items = others.map(({ custom_domain: name }) => ({ key: name, title: name, Icon: IconWorld }))
  return (
    <Finder
      isPopover
      label="Switch domain"
      placeholder="Switch domain"
      text={text}
      onText={setText}
      results={rank(items, sought).slice(0, SHOWN)}
      onOpen={({ key }) => navigate(pathOf(key))}
    />
  )
}
