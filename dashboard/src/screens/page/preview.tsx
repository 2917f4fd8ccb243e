import { List, Stack, Text } from '@mantine/core'
import { useState } from 'react'
import { domainUrl } from '../../api/queries.ts'
import { Section } from '../../parts/page.tsx'
import { NotStored } from './facts.tsx'
import classes from './inspection.module.css'
import type { LensPart } from './inspection.tsx'
import { linkPreview } from './link-preview.ts'

/** The card that networks and messengers show of a link to the page. */
export function LensPreview({ domain, lens: { path, facts, inspection } }: LensPart) {
  const name = domain.custom_domain
  const [isMissing, setMissing] = useState(false)
  if (facts === null) return <NotStored />
  const preview = linkPreview(facts, name, path)
  // Drawn by a browser of ours: nothing of a stranger is loaded by yours.
  const picture = inspection?.state === 'done' && !isMissing ? inspection.id : null
  return (
    <Section
      title="Link preview"
      lead="About as networks and messengers show a link to this page. They read it without scripts, too."
    >
      <Stack gap="md">
        <div className={preview.isLarge ? classes.card : `${classes.card} ${classes.small}`}>
          {preview.image !== null && (
            <div className={classes.cardPicture}>
              {picture === null ? (
                <Text size="xs" className="quiet break">
                  {inspection?.state === 'done'
                    ? 'The picture could not be loaded, or has changed: '
                    : 'The picture is shown once somebody has looked at the page (Crawlers and people): '}
                  {preview.image.slice(0, 200)}
                </Text>
              ) : (
                <img
                  src={`${domainUrl(name)}/inspections/${picture}/card`}
                  alt="As the card shows it"
                  onError={() => setMissing(true)}
                />
              )}
            </div>
          )}
          <div className={classes.cardWords}>
            <Text size="xs" className="quiet">
              {preview.site}
            </Text>
            <Text fw={600} className="break">
              {preview.title}
            </Text>
            {preview.description !== null && (
              <Text size="sm" className="quiet break">
                {preview.description}
              </Text>
            )}
          </div>
        </div>
        {preview.remarks.length > 0 && (
          <List size="sm" spacing={4}>
            {preview.remarks.map((remark) => (
              <List.Item key={remark}>{remark}</List.Item>
            ))}
          </List>
        )}
        {Object.keys(facts.social).length > 0 && (
          <dl className="facts">
            {Object.entries(facts.social).map(([property, value]) => (
              <div key={property} style={{ display: 'contents' }}>
                <dt>{property}</dt>
                <dd>{value}</dd>
              </div>
            ))}
          </dl>
        )}
      </Stack>
    </Section>
  )
}
