const WEB = ["http:", "https:"];

/** A link to a page elsewhere; an address of another scheme, such as a script, stays text. */
export function WebLink({ address, label }: { address: string; label?: string }) {
  const isWeb = URL.canParse(address) && WEB.includes(new URL(address).protocol);
  if (!isWeb) return <span className="words">{address}</span>;
  return (
    <a className="words" href={address} target="_blank" rel="noreferrer noopener">
      {label ?? address}
    </a>
  );
}
