// The switch of versions. Each version of the site is a folder; versions.json beside the folders lists them.
const here = new URL(document.documentElement.dataset.content_root, location.href);

async function showVersions() {
  const answer = await fetch(new URL("../versions.json", here));
  const versions = answer.ok ? await answer.json() : [];
  if (versions.length < 2) return;
  for (const choice of document.querySelectorAll("select.versions")) {
    for (const version of versions) choice.add(new Option(version));
    choice.value = here.pathname.split("/").at(-2);
    choice.hidden = false;
    choice.addEventListener("change", () => openVersion(choice.value));
  }
}

// The same page of another version, or that version's first page where it has no such page.
async function openVersion(version) {
  const root = new URL(`../${version}/`, here);
  const page = new URL(location.pathname.slice(here.pathname.length), root);
  const answer = await fetch(page, { method: "HEAD" });
  location.href = answer.ok ? page : root;
}

if (here.protocol !== "file:") showVersions(); // pages opened as files may not read other files
